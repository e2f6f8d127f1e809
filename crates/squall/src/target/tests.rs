use super::*;
use crate::assets::Assets;
use squall_core::shape::{Beyond, Cuboid, Sphere, TriangleMesh};
use squall_core::{Grid, Side, Volume};
use squall_io::picture::{Coverage, Fit, Font, Placement, draw_text};
use squall_io::vdb::parse_vdb;
use squall_io::{VdbClass, VdbGrid, VdbOptions, VdbPrecision, VdbValues, write_vdb};
use std::path::Path;

fn grid(cells: [usize; 3]) -> Grid<3> {
    Grid::walled(cells, Side::Slip)
}

fn amount(density: &[f32], grid: &Grid<3>) -> f64 {
    density.iter().map(|&v| f64::from(v)).sum::<f64>() * grid.cell_volume()
}

/// A cube of side 2 around (5, 5, 5).
fn cube() -> TriangleMesh {
    let vertices = (0..8).map(|i| [0, 1, 2].map(|a| if i >> a & 1 == 0 { 4.0 } else { 6.0 })).collect();
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriangleMesh { vertices, triangles }
}

#[test]
fn a_cube_of_triangles_fills_the_box_up_to_its_margin() {
    let grid = Grid { origin: [1.0, 2.0, 3.0], ..grid([40, 40, 50]) };
    let (density, report) = mesh_density(&cube(), &grid, &Place::default()).unwrap();
    assert!(report.closed && !report.flipped);
    // A tenth of the shortest side stays empty: the cube has a side of 0.8. Its edges lose a part of a cell.
    assert!((amount(&density, &grid) / 0.512 - 1.0).abs() < 0.02, "{}", amount(&density, &grid));
    let at = |cell: [usize; 3]| density[cell[0] + 40 * (cell[1] + 40 * cell[2])];
    assert!(at([20, 20, 25]) == 1.0 && at([5, 5, 10]) > 0.9, "it is in the middle of the box");
    assert!(at([20, 20, 7]) == 0.0 && at([2, 20, 25]) == 0.0, "and leaves its margin");
    let frame = Place::Fitted { margin: 0.0, center: Some([1.25, 2.5, 3.5]), size: Some([0.5, 0.25, 1.0]) };
    let (small, _) = mesh_density(&cube(), &grid, &frame).unwrap();
    assert!((amount(&small, &grid) / 0.25_f64.powi(3) - 1.0).abs() < 0.05, "{}", amount(&small, &grid));
}

#[test]
fn shapes_fill_their_volume_in_two_and_three_dimensions() {
    let ball = Sphere { center: [0.5; 3], radius: 0.3 };
    let expected = 4.0 / 3.0 * std::f64::consts::PI * 0.027;
    let grid3 = grid([48; 3]);
    // A curved surface: second order, (h / r)^2 is about 0.5 %.
    assert!((amount(&shape_density(&ball, 0.0, &grid3), &grid3) / expected - 1.0).abs() < 0.005);
    let grid2 = Grid::<2>::walled([40, 20], Side::Slip);
    let half = shape_density(&Cuboid::between([-1.0, -1.0], [2.0, 0.26]), 0.0, &grid2);
    let mean = half.iter().map(|&v| f64::from(v)).sum::<f64>() / 800.0;
    assert!((mean - 0.52).abs() < 1e-6, "a plane through cells is exact: {mean}");
}

/// Something smooth with a peak of 1, 24 cells a side.
fn cloud(spacing: f64) -> Volume {
    let bump = |i: usize| f64::from(1.0 - ((i as f32 - 12.0) / 12.0).powi(2));
    let values: Vec<f32> =
        (0..24 * 24 * 24).map(|i| (bump(i % 24) * bump(i / 24 % 24) * bump(i / 576)) as f32).collect();
    Volume::from_dense([0.0; 3], spacing, 0.0, [24; 3], &values)
}

#[test]
fn a_volume_comes_back_from_its_file_onto_the_same_grid() {
    let grid = grid([24; 3]);
    let volume = cloud(1.0 / 24.0);
    let path = std::env::temp_dir().join(format!("squall-target-{}.vdb", std::process::id()));
    let stored = VdbGrid {
        name: "density",
        values: VdbValues::Scalar(&volume),
        class: VdbClass::FogVolume,
        precision: VdbPrecision::Full,
    };
    write_vdb(&path, &[stored], &VdbOptions::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let file = parse_vdb(&bytes, &path).unwrap();
    let density = vdb_density(&file, None, &grid, &Place::AsIs).unwrap();
    for z in 0..24 {
        for y in 0..24 {
            for x in 0..24 {
                let (here, there) = (density[x + 24 * (y + 24 * z)], volume.get([x, y, z].map(|i| i as i32)));
                // The file stores the cell size; ends of cells differ by rounding.
                assert!((here - there).abs() < 1e-6, "{x} {y} {z}: {here} and not {there}");
            }
        }
    }
    let error = vdb_density(&file, Some("heat"), &grid, &Place::AsIs).unwrap_err().to_string();
    assert!(error.contains("`heat`") && error.contains("`density`"), "{error}");
}

#[test]
fn a_volume_keeps_its_amount_on_finer_and_coarser_grids() {
    let volume = cloud(1.0 / 24.0);
    let whole = volume.values.iter().map(|&v| f64::from(v)).sum::<f64>() / 24.0_f64.powi(3);
    for n in [7, 10, 24, 37, 50] {
        let grid = grid([n; 3]);
        let density = volume_density(&volume, VdbClass::FogVolume, &grid, &Place::AsIs).unwrap();
        assert!((amount(&density, &grid) / whole - 1.0).abs() < 1e-6, "{n} cells: {}", amount(&density, &grid));
        assert!(density.iter().all(|v| (0.0..=1.0).contains(v)));
    }
    // Fitted without a margin it fills the box but for the first layer of cells, which is empty.
    let fitted = Place::Fitted { margin: 0.0, center: None, size: None };
    let grid = grid([30; 3]);
    let density = volume_density(&cloud(17.0), VdbClass::FogVolume, &grid, &fitted).unwrap();
    assert!((amount(&density, &grid) / (whole * (24.0_f64 / 23.0).powi(3)) - 1.0).abs() < 1e-6);
}

#[test]
fn distances_in_a_volume_become_a_solid() {
    let distance = |i: usize| {
        let x = [i % 40, i / 40 % 40, i / 1600].map(|i| (i as f64 + 0.5) / 40.0 - 0.5);
        ((x[0] * x[0] + x[1] * x[1] + x[2] * x[2]).sqrt() - 0.3).clamp(-0.075, 0.075) as f32
    };
    let volume = Volume::from_dense([0.0; 3], 0.025, 0.075, [40; 3], &(0..64_000).map(distance).collect::<Vec<_>>());
    let grid = grid([25; 3]);
    let density = volume_density(&volume, VdbClass::LevelSet, &grid, &Place::AsIs).unwrap();
    let expected = 4.0 / 3.0 * std::f64::consts::PI * 0.027;
    assert!((amount(&density, &grid) / expected - 1.0).abs() < 0.005, "{}", amount(&density, &grid));
    let full = Volume { background: -1.0, ..volume.clone() };
    assert!(volume_density(&full, VdbClass::LevelSet, &grid, &Place::AsIs).is_err());
    let empty = Volume { spacing: 1.0, ..Volume::default() };
    assert!(volume_density(&empty, VdbClass::FogVolume, &grid, &Place::AsIs).is_err());
    let mut broken = cloud(0.1);
    broken.values[7] = f32::NAN;
    assert!(volume_density(&broken, VdbClass::FogVolume, &grid, &Place::AsIs).is_err());
}

#[test]
fn letters_in_space_can_be_read_from_each_end() {
    let letter = draw_text("L", &Font::carried(), [100, 100]).unwrap();
    let grid = grid([20, 24, 28]);
    let stretch = Placement { fit: Fit::Stretch, margin: 0.0, ..Placement::default() };
    // Cells of the stem and of the bar that a viewer sees on the lower left, upper left and lower right.
    let seen = |normal: usize, low_left: [usize; 3], up_left: [usize; 3], low_right: [usize; 3]| {
        let flat = letter.density(&face(&grid, normal), &stretch).unwrap();
        let slab = Slab { normal, thickness: 0.23, center: None };
        let density = extrude(&flat, &grid, &slab).unwrap();
        let at = |[x, y, z]: [usize; 3]| density[x + 20 * (y + 24 * z)];
        assert!(at(low_left) > 0.9 && at(up_left) > 0.9 && at(low_right) > 0.9, "normal {normal}");
        let far: [usize; 3] = std::array::from_fn(|a| up_left[a] + low_right[a] - low_left[a]);
        assert_eq!(at(far), 0.0, "normal {normal}: nothing in the upper right");
        let area = flat.iter().map(|&v| f64::from(v)).sum::<f64>() * face(&grid, normal).cell_volume();
        // The slab ends inside of cells.
        assert!((amount(&density, &grid) / (0.23 * area) - 1.0).abs() < 1e-6);
    };
    seen(2, [1, 1, 14], [1, 22, 14], [18, 1, 14]);
    seen(0, [10, 1, 26], [10, 22, 26], [10, 1, 1]);
    seen(1, [1, 12, 26], [1, 12, 1], [18, 12, 26]);
    for slab in [
        Slab { normal: 3, thickness: 0.1, center: None },
        Slab { normal: 0, thickness: 0.0, center: None },
        Slab { normal: 0, thickness: 0.1, center: Some(f64::NAN) },
    ] {
        assert!(extrude(&[0.0; 24 * 28], &grid, &slab).is_err());
    }
    assert!(extrude(&[0.0; 5], &grid, &Slab { normal: 0, thickness: 0.1, center: None }).is_err());
}

#[test]
fn a_sequence_fades_from_frame_to_frame() {
    let keys = vec![(1.0, vec![0.0, 1.0]), (2.0, vec![1.0, 1.0]), (4.0, vec![0.0, 0.0])];
    let at = |beyond: Beyond, t: f64| {
        let mut density = vec![9.0];
        DensitySequence::new(keys.clone(), beyond).unwrap().at(t, &mut density);
        density
    };
    for (t, expected) in [(0.0, [0.0, 1.0]), (1.25, [0.25, 1.0]), (2.0, [1.0, 1.0]), (3.0, [0.5, 0.5]), (9.0, [0.0; 2])]
    {
        assert_eq!(at(Beyond::Hold, t), expected, "at {t}");
    }
    assert_eq!(at(Beyond::Loop, 4.25), [0.25, 1.0]);
    assert_eq!(at(Beyond::Loop, -2.0), [0.0, 1.0]);
    assert!(DensitySequence::new(Vec::new(), Beyond::Hold).is_err());
    assert!(DensitySequence::new(vec![(1.0, vec![]), (1.0, vec![])], Beyond::Hold).is_err());
    assert!(DensitySequence::new(vec![(1.0, vec![]), (2.0, vec![0.0])], Beyond::Hold).is_err());
}

#[test]
fn numbered_pictures_are_a_sequence() {
    let folder = std::env::temp_dir().join(format!("squall-frames-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for frame in 3..6_u8 {
        let samples: Vec<u8> = (0..3 * 8 * 4).map(|i| if i / 3 % 8 == frame { 0 } else { 255 }).collect();
        squall_io::write_png(folder.join(format!("dot_{frame:04}.png")), 8, 4, &samples).unwrap();
    }
    let assets = Assets::folder(&folder);
    let grid = Grid::<2>::walled([8, 4], Side::Slip);
    let stretch = Placement { fit: Fit::Stretch, margin: 0.0, ..Placement::default() };
    let options = PictureOptions { placement: stretch, ..PictureOptions::default() };
    let read = |pattern: &str, frames| {
        numbered_files(&assets, pattern, frames, 10.0, Beyond::Hold, |data, path| {
            let picture = squall_io::picture::parse_artwork(data, path, [64, 64])?;
            Ok(picture_density(&picture, &grid, &options)?.0)
        })
    };
    for pattern in ["dot_{frame}.png", "dot_####.png"] {
        let sequence = read(pattern, [3, 5]).unwrap();
        assert_eq!(sequence.times().collect::<Vec<_>>(), [0.0, 0.1, 0.2]);
        let mut density = Vec::new();
        sequence.at(0.15, &mut density);
        // Half-way between the columns 4 and 5.
        let expected: Vec<f32> = [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0].repeat(4);
        assert!(density.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{density:?}");
    }
    assert!(matches!(read("dot_{frame}.png", [3, 9]), Err(TargetError::Asset(_))), "frame 6 is missing");
    assert!(matches!(read("dot.png", [3, 5]), Err(TargetError::Sequence { .. })));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_still_picture_is_a_film_and_a_blank_one_an_error() {
    let path = std::env::temp_dir().join(format!("squall-still-{}.png", std::process::id()));
    squall_io::write_png(&path, 3, 3, &[255, 255, 255, 0, 0, 0, 255, 255, 255].repeat(3)).unwrap();
    let grid = Grid::<2>::walled([6, 6], Side::Slip);
    let film_of = |data: &[u8]| film(data, Path::new("a.png"), &grid, &PictureOptions::default(), Beyond::Loop);
    let sequence = film_of(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(sequence.times().count(), 2);
    squall_io::write_png(&path, 3, 3, &[255; 27]).unwrap();
    let blank = film_of(&std::fs::read(&path).unwrap()).unwrap_err();
    assert!(blank.to_string().contains("nothing is drawn in a.png"), "{blank}");
    std::fs::remove_file(&path).unwrap();
    let full = Coverage { width: 1, height: 1, values: vec![1.0] };
    assert!(full.density(&grid, &Placement::default()).is_ok());
}
