//! The studio as a program, or as a page.

fn main() -> std::process::ExitCode {
    squall_studio::place::main()
}
