//! A JSON Schema of the scene format, made from the same lists of keys that the reader uses. Editors complete and
//! check scenes with it.

use crate::scene::{SceneFile, kind::Kind};

/// The schema as JSON text.
pub fn schema_json() -> String {
    let mut schema = SceneFile::schema();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Squall scene".into();
    format!("{schema:#}")
}
