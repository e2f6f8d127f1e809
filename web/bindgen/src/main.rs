//! `bindgen PROGRAM.wasm FOLDER`: makes of a compiled program a module that a page can load.

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder] = &arguments[..] else { panic!("usage: bindgen PROGRAM.wasm FOLDER") };
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    let made = bindgen.input_path(program).remove_name_section(true).web(true).and_then(|bindgen| bindgen.typescript(false).generate(folder));
    made.expect("the version in web/bindgen/Cargo.toml is that of wasm-bindgen in Cargo.lock");
}
