//! All keys of the scene: what they mean, what they are, other values.

use eframe::egui::{self, Ui};
use squall::scene::key::{Listed, Matters};
use squall::setup::{Change, edit::may_change};

use super::Studio;
use crate::player::Command;

impl Studio {
    /// Every key of the scene, by table.
    pub(super) fn scene_keys(&mut self, ui: &mut Ui) {
        egui::CollapsingHeader::new("All keys of the scene").default_open(false).show(ui, |ui| {
            let label = ui.label("Filter").id;
            ui.text_edit_singleline(&mut self.filter).labelled_by(label);
            ui.checkbox(&mut self.from_start, "Change from the start").on_hover_text(
                "Otherwise from this moment on, where that can be. What looks like something else, other cells and boundaries always change from the start: what was played is played again.",
            );
            let filter = self.filter.trim().to_lowercase();
            let keys = std::mem::take(&mut self.keys);
            let mut wanted = None;
            let mut tables: Vec<&str> = keys.iter().map(table).collect();
            tables.dedup();
            for name in tables {
                let rows: Vec<&Listed> = keys.iter().filter(|k| table(k) == name && k.path.contains(&filter)).collect();
                if rows.is_empty() {
                    continue;
                }
                let open = (!filter.is_empty()).then_some(true);
                egui::CollapsingHeader::new(format!("[{name}]")).open(open).show(ui, |ui| {
                    for listed in rows {
                        if let Some(value) = self.row(ui, listed) {
                            wanted = Some((listed.path.clone(), listed.key.matters, value));
                        }
                    }
                });
            }
            self.keys = keys;
            if let Some((path, matters, value)) = wanted {
                self.drafts.remove(&path);
                let key = vec![format!("{path}={value}")];
                if matters == Matters::Physics && may_change(&path) && !self.from_start {
                    self.send(Command::Change(key));
                } else {
                    self.change_scene(key);
                }
            }
        });
        ui.separator();
    }

    /// What a key is now: what edits have made of it, or what the scene says.
    fn value_of(&self, listed: &Listed) -> Option<String> {
        let now = self.shown.frame;
        let mut edits: Vec<_> = self.shown.edits.iter().filter(|edit| edit.frame <= now).collect();
        edits.sort_by_key(|edit| edit.frame);
        let set = edits.iter().rev().find_map(|edit| match &edit.change {
            Change::Set(keys) => keys.iter().find_map(|key| key.strip_prefix(&listed.path)?.strip_prefix('=')),
            _ => None,
        });
        set.map(str::to_owned).or_else(|| listed.value.clone())
    }

    /// One key; the value that it is to have, if that was chosen.
    fn row(&mut self, ui: &mut Ui, listed: &Listed) -> Option<String> {
        let key = listed.key;
        let short = listed.path.split_once('.').map_or(listed.path.as_str(), |(_, rest)| rest);
        let mut doc = key.doc.clone();
        doc.extend((!key.unit.is_empty()).then(|| format!("\nUnit: {}", key.unit)));
        doc.extend(key.range.map(|range| format!("\nRange: {}", range.words())));
        doc.extend(key.default.as_ref().map(|default| format!("\nDefault: {default}")));
        let value = self.value_of(listed);
        let mut wanted = None;
        ui.horizontal(|ui| {
            let label = ui.label(short).on_hover_text(&doc).id;
            let text = value.clone().unwrap_or_default();
            let draft = self.drafts.get(&listed.path).cloned().unwrap_or_else(|| text.clone());
            let words = words(&key.kind);
            if let Ok(mut flag) = text.parse::<bool>() {
                if ui.checkbox(&mut flag, "").labelled_by(label).on_hover_text(&doc).changed() {
                    wanted = Some(flag.to_string());
                }
            } else if !words.is_empty() {
                let mut chosen = text.trim_matches('"').to_owned();
                let before = chosen.clone();
                egui::ComboBox::from_id_salt(&listed.path).selected_text(chosen.clone()).show_ui(ui, |ui| {
                    for word in words {
                        ui.selectable_value(&mut chosen, word.clone(), word);
                    }
                });
                wanted = (chosen != before).then(|| format!("{chosen:?}"));
            } else if let (Ok(mut number), true) = (draft.parse::<f64>(), text.parse::<f64>().is_ok()) {
                let whole = !text.contains(['.', 'e']);
                let speed = if whole { 1.0 } else { (0.01 * number.abs()).max(1e-4) };
                let mut drag = egui::DragValue::new(&mut number).speed(speed).max_decimals(if whole { 0 } else { 6 });
                if let Some(range) = key.range {
                    drag = drag.range(bounds(range));
                }
                let response = ui.add(drag).labelled_by(label).on_hover_text(&doc);
                let written = if whole { format!("{number:.0}") } else { format!("{number:?}") };
                if response.changed() {
                    self.drafts.insert(listed.path.clone(), written.clone());
                }
                // While the mouse is down it only shows what would be.
                let done = response.drag_stopped() || response.lost_focus();
                wanted = (done && written != text).then_some(written);
            } else {
                let mut typed = draft;
                let hint = key.default.clone().unwrap_or_default();
                let edit = egui::TextEdit::singleline(&mut typed).hint_text(hint).desired_width(120.0);
                let response = ui.add(edit).labelled_by(label).on_hover_text(&doc);
                if response.changed() {
                    self.drafts.insert(listed.path.clone(), typed.clone());
                }
                let typed = typed.trim().to_owned();
                wanted = (response.lost_focus() && !typed.is_empty() && typed != text).then_some(typed);
            }
            // Back to what the scene said when it was opened.
            let first = listed.value.as_ref().filter(|first| value.as_ref() != Some(*first));
            if let Some(first) = first
                && ui.small_button(format!("Reset {short}")).clicked()
            {
                wanted = Some(first.clone());
            }
        });
        wanted
    }
}

/// The table that a key belongs to.
fn table(listed: &Listed) -> &str {
    match listed.path.split_once('.') {
        Some((table, _)) => table,
        None if listed.value.is_none() && listed.key.kind.contains("table") => &listed.path,
        None => "scene",
    }
}

/// The words that a kind of value has to choose from.
fn words(kind: &str) -> Vec<String> {
    let parts: Vec<&str> = kind.split(", ").collect();
    let word = |part: &&str| part.strip_prefix("`\"").and_then(|part| part.strip_suffix("\"`")).map(str::to_owned);
    parts.iter().map(word).collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn bounds(range: squall::scene::key::Range) -> std::ops::RangeInclusive<f64> {
    use squall::scene::key::Range;
    match range {
        Range::AtLeast(low) => low..=f64::INFINITY,
        Range::Above(low) => low + 1e-9..=f64::INFINITY,
        Range::Within(low, high) => low..=high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_kinds_that_are_choices() {
        assert_eq!(words("`\"gif\"`, `\"mp4\"`"), ["gif", "mp4"]);
        assert!(words("number").is_empty() && words("`\"gif\"` or number").is_empty());
    }
}
