//! `squall schema`: the scene format for editors.

use crate::exit::{Code, Failure};
use crate::output::print;

pub fn run() -> Result<Code, Failure> {
    print(squall::schema::schema_json() + "\n")?;
    Ok(Code::Done)
}
