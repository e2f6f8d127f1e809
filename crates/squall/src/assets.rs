//! The files that a scene names: only those below one folder, or those that Squall carries along. A scene from somewhere
//! else must not be able to read whatever lies on this machine.

use std::fmt;
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use squall_core::shape::TriangleMesh;

use crate::setup::Up;

/// Largest file that is read.
const MAX_BYTES: u64 = 512 << 20;

/// What all meshes of a sequence may take in memory.
const MOST_MESH_BYTES: usize = 512 << 20;

/// What the place of files that the program carries is called. No folder: its path would begin with a slash or a letter.
const CARRIED: &str = ":gallery:";

/// Where the files are that a scene may name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assets {
    root: Option<PathBuf>,
    embedded: &'static [(&'static str, &'static [u8])],
    memory_limit: Option<u64>,
}

/// Why a file cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    /// The scene was not read from a folder.
    #[error("this scene has no folder that `{0}` could be in")]
    NoFolder(String),
    /// It is not a name of a file below the folder.
    #[error("`{0}` leads out of the folder of the scene")]
    Outside(String),
    /// There is no such file, or it cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is a folder, a device or a pipe.
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    /// It is not what it should be.
    #[error("the mesh {name} cannot be used: {reason}")]
    Content {
        /// Which file.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// All files of the scene together take more memory than it may.
    #[error("{} and the files read before it take about {} MB; {} MB may be used", .path.display(), .needed >> 20, .limit >> 20)]
    TooMuch {
        /// Which file.
        path: PathBuf,
        /// Bytes that all of them take.
        needed: u64,
        /// Bytes that they may.
        limit: u64,
    },
    /// It is larger than any mesh should be.
    #[error("{} has {size} bytes; at most {MAX_BYTES} are read", .path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
}

impl AssetError {
    /// Whether the file is there but cannot be read.
    pub fn is_io(&self) -> bool {
        use std::io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
        let is_name = |e: &std::io::Error| [NotFound, NotADirectory, InvalidFilename, InvalidInput].contains(&e.kind());
        matches!(self, AssetError::Unreadable { source, .. } if !is_name(source))
    }

    /// What can be done about it.
    pub fn advice(&self) -> &'static str {
        match self {
            AssetError::NoFolder(_) => "name the folder with --asset-root",
            AssetError::Outside(_) => {
                "files are named relative to the folder of the scene, without `..`, and links must not leave it; \
                 --asset-root names another folder"
            }
            AssetError::Unreadable { .. } => "files are looked for in the folder of the scene, or in --asset-root",
            AssetError::NotAFile(_) => "name a file",
            AssetError::Content { .. } => "meshes are OBJ, PLY, STL or glTF files",
            AssetError::TooLarge { .. } => "use a mesh with fewer triangles",
            AssetError::TooMuch { .. } => "use fewer or smaller files, or raise --memory-limit",
        }
    }
}

impl Assets {
    /// No files at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// The files below a folder.
    pub fn folder(root: impl Into<PathBuf>) -> Self {
        Self { root: Some(root.into()), ..Self::default() }
    }

    /// Files that are part of the program: names and contents.
    pub fn embedded(files: &'static [(&'static str, &'static [u8])]) -> Self {
        Self { embedded: files, ..Self::default() }
    }

    /// Where they are, for [`at`](Self::at); `None` if there are none.
    pub fn place(&self) -> Option<String> {
        match &self.root {
            Some(root) => Some(root.canonicalize().unwrap_or_else(|_| root.clone()).display().to_string()),
            None => (!self.embedded.is_empty()).then(|| CARRIED.to_owned()),
        }
    }

    /// The files of a [`place`](Self::place).
    pub fn at(place: &str) -> Self {
        if place == CARRIED { crate::gallery::assets() } else { Self::folder(place) }
    }

    /// The same files for a scene that may take this much memory, in bytes; `None`: nine tenths of what is free.
    pub fn within(self, memory_limit: Option<u64>) -> Self {
        Self { memory_limit, ..self }
    }

    /// How much memory a scene may take, if that is known: figures are drawn only if it is enough.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit.or_else(crate::run::usable_memory)
    }

    /// The content of a file.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, AssetError> {
        self.read_after(0, name)
    }

    /// The content of a file, if it fits into memory beside what was loaded before, in bytes.
    pub fn read_after(&self, loaded: u64, name: &str) -> Result<Vec<u8>, AssetError> {
        if let Some((_, bytes)) = self.embedded.iter().find(|(file, _)| *file == name) {
            return Ok(bytes.to_vec());
        }
        let below = |c: Component<'_>| matches!(c, Component::Normal(_) | Component::CurDir);
        if name.is_empty() || name.contains("://") || !Path::new(name).components().all(below) {
            return Err(AssetError::Outside(name.to_owned()));
        }
        let Some(root) = &self.root else { return Err(AssetError::NoFolder(name.to_owned())) };
        let path = root.join(name);
        let failed = |source| AssetError::Unreadable { path: path.clone(), source };
        let real = path.canonicalize().map_err(failed)?;
        let root = root.canonicalize().map_err(failed)?;
        if !real.starts_with(&root) {
            return Err(AssetError::Outside(name.to_owned()));
        }
        // Opening a pipe would wait for ever.
        let about = real.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(AssetError::NotAFile(path));
        }
        if about.len() > MAX_BYTES {
            return Err(AssetError::TooLarge { path, size: about.len() });
        }
        let needed = loaded.saturating_add(about.len());
        if let Some(limit) = self.memory_limit().filter(|limit| needed > *limit) {
            return Err(AssetError::TooMuch { path, needed, limit });
        }
        std::fs::read(&real).map_err(failed)
    }
}

/// The name of one file of a sequence: the number, with four digits, in the place of `{frame}`, or with as many digits as
/// there are `#`, two or more. `None` if the name has neither.
pub fn numbered(name: &str, frame: u64) -> Option<String> {
    if name.contains("{frame}") {
        return Some(name.replace("{frame}", &format!("{frame:04}")));
    }
    let begin = name.find("##")?;
    let digits = name[begin..].bytes().take_while(|&byte| byte == b'#').count();
    Some(format!("{}{frame:0digits$}{}", &name[..begin], &name[begin + digits..]))
}

/// What was read from files and made ready: triangles, pixels, densities. It is shared, and compared and shown by a fingerprint of the
/// files alone, so that a [`Setup`](crate::Setup) that holds it is small data.
pub struct Loaded<T> {
    fingerprint: u64,
    content: Arc<T>,
}

impl<T> Loaded<T> {
    /// From files of this fingerprint.
    pub fn new(fingerprint: u64, content: T) -> Self {
        Self { fingerprint, content: Arc::new(content) }
    }

    /// The content, to be kept.
    pub fn share(&self) -> Arc<T> {
        self.content.clone()
    }
}

impl<T> Deref for Loaded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> Clone for Loaded<T> {
    fn clone(&self) -> Self {
        Self { fingerprint: self.fingerprint, content: self.content.clone() }
    }
}

impl<T> PartialEq for Loaded<T> {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl<T> fmt::Debug for Loaded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loaded({:016x})", self.fingerprint)
    }
}

/// The meshes of one or more files.
#[derive(Default)]
pub(crate) struct MeshFiles {
    pub meshes: Vec<TriangleMesh>,
    /// A fingerprint of what all files hold.
    pub fingerprint: u64,
    /// What the meshes take in memory.
    pub bytes: usize,
}

impl MeshFiles {
    /// Adds those of a file: all frames of an animation, `fps` a second, or one mesh. Other files have taken `loaded` bytes.
    pub fn load(
        &mut self,
        assets: &Assets,
        loaded: u64,
        name: &str,
        fps: Option<f64>,
        up: Up,
    ) -> Result<(), AssetError> {
        let bytes = assets.read_after(loaded + self.bytes as u64, name)?;
        let wrong = |reason: String| AssetError::Content { name: name.to_owned(), reason };
        let path = assets.root.as_ref().map_or_else(|| PathBuf::from(name), |root| root.join(name));
        let loaded = match fps {
            Some(fps) => squall_io::parse_mesh_frames(&bytes, &path, fps),
            None => squall_io::parse_mesh(&bytes, &path).map(|loaded| vec![loaded.mesh]),
        };
        let mut print = fingerprint(&bytes);
        for mesh in loaded.map_err(|e| wrong(e.to_string()))? {
            self.bytes += size_of_val(&*mesh.vertices) + size_of_val(&*mesh.triangles);
            if self.bytes > MOST_MESH_BYTES {
                let most = MOST_MESH_BYTES >> 20;
                return Err(wrong(format!(
                    "the meshes of all frames take more than {most} MB: use fewer triangles or frames"
                )));
            }
            // What a glTF file refers to lies in other files.
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gltf")) {
                let numbers = mesh.vertices.as_flattened().iter().map(|x| x.to_bits());
                let corners = mesh.triangles.as_flattened().iter().map(|&v| u64::from(v));
                print = numbers.chain(corners).fold(print, |hash, bits| (hash ^ bits).wrapping_mul(FNV_PRIME));
            }
            self.meshes.push(if up == Up::Z { upright(mesh) } else { mesh });
        }
        self.fingerprint = print ^ self.fingerprint.rotate_left(7);
        Ok(())
    }
}

/// From z up to y up: x, y, z become x, z, -y.
fn upright(mut mesh: TriangleMesh) -> TriangleMesh {
    mesh.vertices.iter_mut().for_each(|[_, y, z]| (*y, *z) = (*z, -*y));
    mesh
}

const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a: the same on every machine and in every version, and collisions by accident are all it must avoid.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_sequence_have_numbers() {
        assert_eq!(numbered("a/walk_{frame}.ply", 7).unwrap(), "a/walk_0007.ply");
        assert_eq!(numbered("walk-###.png", 7).unwrap(), "walk-007.png");
        assert_eq!(numbered("##.png", 123).unwrap(), "123.png");
        assert_eq!(numbered("walk#2.png", 7), None);
    }

    #[test]
    fn meshes_of_blender_land_where_they_should() {
        // A cube of a metre in the first octant of Blender, whose corner (1, 1, 1) was pulled up to (1, 1, 3), as Blender 4.5
        // exports it when asked for nothing else. Its y is our -z.
        let assets = Assets::folder(concat!(env!("CARGO_MANIFEST_DIR"), "/../squall-io/tests/blender_files"));
        let load = |name: &str, fps: Option<f64>, up: Up| {
            let mut files = MeshFiles::default();
            files.load(&assets, 0, name, fps, up).unwrap();
            files.meshes
        };
        let highest = |mesh: &TriangleMesh| *mesh.vertices.iter().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap();
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        for (name, up) in [("marked.obj", Up::Y), ("marked.ply", Up::Z), ("marked.stl", Up::Z), ("marked.glb", Up::Y)] {
            let mesh = &load(name, None, up)[0];
            assert!(near(highest(mesh), [1.0, 3.0, -1.0]), "{name}: {:?}", highest(mesh));
            assert_eq!(mesh.bounds(), ([0.0, 0.0, -1.0], [1.0, 3.0, 0.0]), "{name}");
            assert!(mesh.is_closed() && mesh.volume() > 0.0, "{name}");
        }
        // In a second it moves by 2 m along Blender's y and makes a quarter turn about its z.
        let meshes = load("moving.glb", Some(24.0), Up::Y);
        assert!((25..=26).contains(&meshes.len()), "{}", meshes.len());
        assert!(near(highest(&meshes[0]), [1.0, 3.0, -1.0]), "{:?}", highest(&meshes[0]));
        let last = highest(&meshes[meshes.len() - 1]);
        assert!(near(last, [-1.0, 3.0, -3.0]), "{last:?}");
    }

    #[test]
    fn what_a_gltf_file_refers_to_is_part_of_its_fingerprint() {
        let folder = std::env::temp_dir().join(format!("squall-gltf-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let document = r#"{"asset":{"version":"2.0"},"nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
            "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}],
            "bufferViews":[{"buffer":0,"byteLength":36}],"buffers":[{"uri":"a.bin","byteLength":36}]}"#;
        std::fs::write(folder.join("a.gltf"), document).unwrap();
        let print = |height: f32| {
            let numbers = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, height, 0.0];
            std::fs::write(folder.join("a.bin"), numbers.map(f32::to_le_bytes).concat()).unwrap();
            let mut files = MeshFiles::default();
            files.load(&Assets::folder(&folder), 0, "a.gltf", None, Up::Y).unwrap();
            files.fingerprint
        };
        assert_eq!(print(1.0), print(1.0));
        assert_ne!(print(1.0), print(2.0));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_are_read_only_while_all_of_them_fit_into_memory() {
        let folder = std::env::temp_dir().join(format!("squall-budget-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.ply"), vec![0; 3 << 20]).unwrap();
        let assets = Assets::folder(&folder).within(Some(5 << 20));
        assert!(assets.read("a.ply").is_ok() && assets.read_after(2 << 20, "a.ply").is_ok());
        let error = assets.read_after(3 << 20, "a.ply").unwrap_err().to_string();
        assert!(error.contains("about 6 MB; 5 MB may be used"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_files_below_the_folder_are_read() {
        let folder = std::env::temp_dir().join(format!("squall-assets-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("scene/meshes")).unwrap();
        std::fs::write(folder.join("secret"), b"secret").unwrap();
        std::fs::write(folder.join("scene/meshes/a.ply"), b"ply").unwrap();
        let assets = Assets::folder(folder.join("scene"));
        assert_eq!(assets.read("meshes/a.ply").unwrap(), b"ply");
        let absolute = folder.join("secret").display().to_string();
        for name in ["../secret", "meshes/../../secret", &absolute, "", "https://example.org/a.ply"] {
            assert!(matches!(assets.read(name), Err(AssetError::Outside(_))), "{name}");
        }
        assert!(matches!(assets.read("meshes"), Err(AssetError::NotAFile(_))));
        assert!(matches!(assets.read("b.ply"), Err(AssetError::Unreadable { .. })));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.join("secret"), folder.join("scene/link")).unwrap();
            assert!(matches!(assets.read("link"), Err(AssetError::Outside(_))));
        }
        assert!(matches!(Assets::none().read("a.ply"), Err(AssetError::NoFolder(_))));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
