//! What the documentation tells to type is understood.

use std::fs;
use std::path::Path;

use crate::common::Folder;

/// The pages, and what they say.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let all = docs.chain([root.join("README.md"), root.join("CONTRIBUTING.md")]);
    let pages = all.filter(|path| path.extension().is_some_and(|e| e == "md"));
    pages.map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap())).collect()
}

/// What stands between fences of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    text.split(&format!("```{language}\n")).skip(1).filter_map(|block| block.split("```").next()).collect()
}

/// A line as a shell would split it. Comments begin with ` #`.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.split(" #").next().unwrap_or_default().chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (' ', None) => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_command_in_the_documentation_is_understood() {
    let folder = Folder::new("docs");
    let mut count = 0;
    for (page, text) in pages() {
        for line in blocks(&text, "sh").into_iter().flat_map(str::lines) {
            let Some(rest) = line.trim().strip_prefix("squall ") else { continue };
            // With --help all options and values before it are read, and nothing is done.
            let mut words = words(rest.split(['|', '>']).next().unwrap_or_default());
            words.push("--help".to_owned());
            let output = folder.squall(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(output.code, Some(0), "{page}: {line}\n{}", output.stderr);
            count += 1;
        }
    }
    assert!(count > 30, "{count} commands were found");
}

#[test]
fn every_scene_in_the_documentation_is_right() {
    let mut count = 0;
    for (page, text) in pages() {
        for block in blocks(&text, "toml").into_iter().filter(|block| !block.contains("[dependencies]")) {
            let text =
                if block.contains("[grid]") { block.to_owned() } else { format!("{block}\n[grid]\ncells = [8, 8]\n") };
            let scene = squall::Scene::parse(&page, &text, &[]).and_then(|scene| scene.setup());
            assert!(scene.is_ok(), "{page}:\n{block}\n{}", scene.unwrap_err().to_text());
            count += 1;
        }
    }
    assert!(count > 15, "{count} scenes were found");
}
