//! Shapes of a morph.

use std::path::{Path, PathBuf};

use squall_core::{Grid, Side};
use squall_io::picture::{Channel, Coverage, Font, Placement, draw_text, load_artwork};
use squall_io::{load_mesh, read_vdb};

use super::MorphError;

/// Something that smoke is or becomes.
#[derive(Clone, Debug, PartialEq)]
pub enum Thing {
    /// A disc, in 3D a ball.
    Cloud,
    /// Letters.
    Text(String),
    /// The file of a picture.
    Picture(PathBuf),
    /// The file of a mesh.
    Mesh(PathBuf),
    /// The file of a volume.
    Volume(PathBuf),
}

const PICTURES: [&str; 9] = ["png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "svg"];
const MESHES: [&str; 5] = ["obj", "ply", "stl", "glb", "gltf"];

impl Thing {
    /// Understands an argument; files must be there.
    pub fn parse(word: &str) -> Result<Self, MorphError> {
        if word == "cloud" {
            return Ok(Thing::Cloud);
        }
        if let Some(text) = word.strip_prefix("text:") {
            // Shells make it hard to type a line break.
            let text = text.replace("\\n", "\n");
            let help = "write some letters after `text:`, for example text:Hello";
            return match text.trim().is_empty() {
                true => Err(MorphError::usage(format!("`{word}` has no letters"), help)),
                false => Ok(Thing::Text(text)),
            };
        }
        let path = PathBuf::from(word);
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        let kind: fn(PathBuf) -> Thing = match extension.as_str() {
            e if PICTURES.contains(&e) => Thing::Picture,
            e if MESHES.contains(&e) => Thing::Mesh,
            "vdb" => Thing::Volume,
            _ => return Err(unknown(word, &path)),
        };
        if !path.is_file() {
            let help = "files are looked for from the present folder on";
            return Err(MorphError::input(format!("there is no file `{word}`"), help));
        }
        Ok(kind(path))
    }

    /// The file that it is read from.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Thing::Picture(path) | Thing::Mesh(path) | Thing::Volume(path) => Some(path),
            Thing::Cloud | Thing::Text(_) => None,
        }
    }

    /// Whether it has a volume of its own.
    pub fn is_solid(&self) -> bool {
        matches!(self, Thing::Mesh(_) | Thing::Volume(_))
    }

    /// Whether it has none.
    pub fn is_flat(&self) -> bool {
        matches!(self, Thing::Picture(_) | Thing::Text(_))
    }

    /// What people call it.
    pub fn name(&self) -> String {
        match (self, self.file().and_then(Path::file_stem)) {
            (Thing::Text(text), _) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            (_, Some(stem)) => stem.to_string_lossy().into_owned(),
            _ => "cloud".to_owned(),
        }
    }

    /// Width over height, if it has a say in that.
    pub fn aspect(&self) -> Result<Option<f64>, MorphError> {
        match self {
            Thing::Picture(path) => {
                let picture = load_artwork(path, DRAFT).map_err(|e| wrong(self, &e))?;
                Ok(Some(picture.width as f64 / picture.height as f64))
            }
            Thing::Text(_) => Ok(Some(16.0 / 9.0)),
            _ => Ok(None),
        }
    }

    /// The area that it covers of a box of this size, in 3D the volume, with the default placement. `None` for a cloud,
    /// which is as large as needed.
    pub fn extent(&self, size: &[f64], thickness: f64, font: Option<&Path>) -> Result<Option<f64>, MorphError> {
        let sum = |density: Vec<f32>, cell: f64| density.into_iter().map(f64::from).sum::<f64>() * cell;
        let failed = |e: &dyn std::fmt::Display| wrong(self, e);
        let solid = || draft_grid(std::array::from_fn::<f64, 3, _>(|a| size[a]), 40.0);
        let coverage: Coverage = match self {
            Thing::Cloud => return Ok(None),
            Thing::Mesh(path) => {
                let (mesh, grid) = (load_mesh(path).map_err(|e| failed(&e))?.mesh, solid());
                let density = crate::target::mesh_density(&mesh, &grid, &Default::default());
                return Ok(Some(sum(density.map_err(|e| failed(&e))?.0, grid.cell_volume())));
            }
            Thing::Volume(path) => {
                let (file, grid) = (read_vdb(path).map_err(|e| failed(&e))?, solid());
                let density = crate::target::vdb_density(&file, None, &grid, &Default::default());
                return Ok(Some(sum(density.map_err(|e| failed(&e))?, grid.cell_volume())));
            }
            Thing::Picture(path) => {
                let picture = load_artwork(path, DRAFT).map_err(|e| failed(&e))?;
                picture.ink(Channel::Auto, false).map_err(|e| failed(&e))?.coverage
            }
            Thing::Text(text) => {
                let font = font.map_or_else(|| Ok(Font::carried()), Font::load).map_err(|e| failed(&e))?;
                draw_text(text, &font, DRAFT).map_err(|e| failed(&e))?
            }
        };
        let grid = draft_grid([size[0], size[1]], 96.0);
        let density = coverage.density(&grid, &Placement::default()).map_err(|e| failed(&e))?;
        let area = sum(density, grid.cell_volume());
        Ok(Some(if size.len() == 3 { area * thickness } else { area }))
    }
}

/// Pixels that are enough to know how large something is.
const DRAFT: [usize; 2] = [512, 512];

/// A coarse grid over a box.
fn draft_grid<const D: usize>(size: [f64; D], cells: f64) -> Grid<D> {
    let longest = size.into_iter().fold(0.0, f64::max);
    let count = size.map(|length| (cells * length / longest).ceil().max(4.0) as usize);
    Grid { spacing: std::array::from_fn(|a| size[a] / count[a] as f64), ..Grid::walled(count, Side::Slip) }
}

fn wrong(thing: &Thing, error: &dyn std::fmt::Display) -> MorphError {
    MorphError::input(format!("`{thing}` cannot be taken: {error}"), "")
}

/// As it is typed, on one line.
impl std::fmt::Display for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self, self.file()) {
            (_, Some(path)) => path.display().fmt(f),
            (Thing::Text(_), _) => write!(f, "text:{}", self.name()),
            _ => f.write_str("cloud"),
        }
    }
}

fn unknown(word: &str, path: &Path) -> MorphError {
    let kinds = format!("pictures ({}), meshes ({}), volumes (vdb)", PICTURES.join(", "), MESHES.join(", "));
    if path.is_file() {
        let help = format!("it can be one of {kinds}, by its extension");
        return MorphError::input(format!("`{word}` is no kind of file that smoke can form"), help);
    }
    let help = format!("write text:{word} to form these letters; files are {kinds}; `cloud` is a cloud");
    MorphError::input(format!("there is no file `{word}`"), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(word: &str) -> (bool, String) {
        let error = Thing::parse(word).unwrap_err();
        (matches!(error, MorphError::Usage { .. }), format!("{error} {}", error.help().unwrap_or_default()))
    }

    #[test]
    fn letters_and_clouds_need_no_file() {
        assert_eq!(Thing::parse("cloud").unwrap(), Thing::Cloud);
        assert_eq!(Thing::parse("text:Hello").unwrap(), Thing::Text("Hello".into()));
        assert_eq!(Thing::parse("text:two\\nlines").unwrap(), Thing::Text("two\nlines".into()));
        assert_eq!(Thing::parse("text:two\\nlines").unwrap().name(), "two lines");
    }

    #[test]
    fn what_cannot_be_taken_is_named_with_a_way_out() {
        for (word, is_usage, parts) in [
            ("text:", true, ["`text:`", "text:Hello"]),
            ("text: \\n ", true, ["no letters", "text:Hello"]),
            ("Hello", false, ["`Hello`", "text:Hello"]),
            ("no/such.png", false, ["no/such.png", "present folder"]),
            ("no/such.obj", false, ["no/such.obj", "present folder"]),
            ("Cargo.toml", false, ["`Cargo.toml`", "png"]),
        ] {
            let (found, message) = refused(word);
            assert_eq!(found, is_usage, "{word}");
            assert!(parts.iter().all(|part| message.contains(part)), "{word}: {message}");
        }
    }

    #[test]
    fn the_extent_of_letters_is_what_they_cover() {
        let letters = Thing::Text("I".into());
        let area = letters.extent(&[1.0, 1.0], 0.25, None).unwrap().unwrap();
        // A bar 0.8 m high; its width is a fifth to a third of that in most fonts.
        assert!((0.8 * 0.16..0.8 * 0.4).contains(&area), "{area}");
        let volume = letters.extent(&[1.0, 1.0, 1.0], 0.25, None).unwrap().unwrap();
        assert!((volume - 0.25 * area).abs() < 1e-12);
        assert_eq!(Thing::Cloud.extent(&[1.0, 1.0], 0.25, None).unwrap(), None);
    }
}
