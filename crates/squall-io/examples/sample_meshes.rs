//! Writes the meshes of the gallery: `cargo run -p squall-io --example sample_meshes -- scenes/meshes`.

use squall_core::shape::mesh::samples;
use squall_io::{IoError, write_obj, write_ply};
use std::path::PathBuf;

fn main() -> Result<(), IoError> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "scenes/meshes".into()));
    write_ply(folder.join("knot.ply"), &samples::trefoil_knot(0.09, 120, 14))?;
    write_ply(folder.join("star.ply"), &samples::twisted_star(5, 72, 30))?;
    // Text, a tenth of a millimetre exact: a mesh that can be read.
    let mut propeller = samples::propeller(3);
    propeller.vertices.iter_mut().for_each(|v| *v = v.map(|x| (x * 1e4).round() / 1e4 + 0.0));
    write_obj(folder.join("propeller.obj"), &propeller)
}
