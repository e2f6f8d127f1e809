//! Particles in files: that they come back, and what happens to files that are not whole.

use super::ply_table::parse;
use super::*;
use crate::npy::read_npy;
use crate::test_folder::TestFolder;
use squall_core::Particles;

fn particles(axes: usize) -> Particles {
    let list = |first: f32| (0..5).map(|i| first + 0.1 * i as f32).collect::<Vec<f32>>();
    Particles {
        ids: vec![7, 3, u32::MAX.into(), 0, 1],
        positions: (0..axes).map(|a| list(a as f32)).collect(),
        velocities: (0..axes).map(|a| list(-10.0 * a as f32)).collect(),
        attributes: vec![("age".into(), list(100.0)), ("id".into(), list(5.0))],
    }
}

#[test]
fn particles_come_back_with_their_dimensions_and_notes() {
    let folder = TestFolder::new("particles-ply");
    let path = folder.join("a.ply");
    let notes = [("cell size", "0.01"), ("scene", "dam = break, \"wet\""), ("empty", "")];
    for axes in [2, 3] {
        let mut before = particles(axes);
        write_particles_ply(&path, &before, &notes).unwrap();
        let after = read_particles_ply(&path).unwrap();
        before.attributes[1].0 = "id_2".into();
        assert_eq!(after.particles, before);
        assert!(after.notes.iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(notes));
        // Six coordinates whatever the dimensions, a number and two attributes.
        let bytes = std::fs::read(&path).unwrap();
        let header = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
        assert_eq!(bytes.len() - header, 5 * 4 * (6 + 1 + 2));
        assert!(load_mesh(&path).unwrap_err().to_string().contains("no faces"), "other readers understand it");
        let still = Particles { velocities: vec![], ..before };
        write_particles_ply(&path, &still, &[]).unwrap();
        assert_eq!(read_particles_ply(&path).unwrap(), LoadedParticles { particles: still, notes: vec![] });
    }
    let none = Particles { positions: vec![vec![]; 2], velocities: vec![vec![]; 2], ..Particles::default() };
    write_particles_ply(&path, &none, &[]).unwrap();
    assert_eq!(read_particles_ply(&path).unwrap().particles, none);
}

#[test]
fn particles_that_make_no_sense_are_not_written() {
    let folder = TestFolder::new("particles-refused");
    let path = folder.join("a.ply");
    type Spoil = fn(&mut Particles);
    let cases: [(&str, Spoil); 5] = [
        ("1 coordinates", |p| p.positions.truncate(1)),
        ("2 coordinates and 1 velocities", |p| p.velocities.truncate(1)),
        ("4 numbers of \"y\" for 5 particles", |p| p.positions[1].truncate(4)),
        ("\"age\" of particle 2 is NaN", |p| p.attributes[0].1[2] = f32::NAN),
        ("beyond 32 bits", |p| p.ids[0] = 1 << 32),
    ];
    for (expected, spoil) in cases {
        let mut bad = particles(2);
        spoil(&mut bad);
        let message = write_particles_ply(&path, &bad, &[]).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    for note in [("a=b", "1"), ("", "1"), ("a", "1\nend_header"), ("a ", "1")] {
        assert!(write_particles_ply(&path, &particles(3), &[note]).is_err(), "{note:?}");
    }
    assert!(folder.names().is_empty());
}

#[test]
fn truncated_and_damaged_particles_say_where() {
    let folder = TestFolder::new("particles-damaged");
    let path = folder.join("a.ply");
    write_particles_ply(&path, &particles(2), &[("cell size", "0.01")]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        let fault = parse(&bytes[..length]).map(|_| ()).unwrap_err();
        assert!(fault.place != Place::Whole, "{length}: {fault:?}");
    }
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read_particles_ply(&path)
    };
    let message = read(&bytes[..bytes.len() - 3]).unwrap_err().to_string();
    let expected = format!("a.ply, byte {}: the file ends too early for 5 vertices", bytes.len() - 3);
    assert!(message.contains(&expected), "{message}");
    let text = |from: &[u8], to: &[u8]| {
        let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
        read(&[&bytes[..at], to, &bytes[at + from.len()..]].concat()).unwrap_err().to_string()
    };
    assert!(text(b"vertex 5", b"vertex 4000000000000000000").contains("ends too early"), "no memory is taken");
    assert!(text(b"dimensions 2", b"dimensions 4").contains("\"4\" dimensions"));
    assert!(text(b"float y", b"float why").contains("lack x, y or z"));
    assert!(text(b"uint id", b"uint ix").contains("lack an id"));
    assert!(text(b"little", b"big").contains("little endian"));
    assert!(text(b"float age", b"double age").contains("\"age\" is not of the type"));
    let mut damaged = bytes.clone();
    let last = bytes.len() - 4;
    damaged[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(
        read(&damaged).unwrap_err().to_string().contains(&format!("byte {last}: \"id_2\" of vertex 4 (from 0) is NaN"))
    );
    for at in 0..bytes.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            if let Ok(LoadedParticles { particles, .. }) = read(&damaged) {
                write_particles_ply(folder.join("b.ply"), &particles, &[]).unwrap();
            }
        }
    }
}

#[test]
fn arrays_have_a_row_for_each_particle() {
    let folder = TestFolder::new("particles-npy");
    let path = |name: &str| folder.join(format!("p_{name}.npy"));
    let all = particles(2);
    write_particles_npy(path, &all).unwrap();
    let (shape, values) = read_npy(path("positions")).unwrap();
    assert_eq!((shape, values[2], values[3]), (vec![5, 2], all.positions[0][1], all.positions[1][1]));
    assert_eq!(read_npy(path("velocities")).unwrap().1[3], all.velocities[1][1]);
    let (name, values) = &all.attributes[0];
    assert_eq!(read_npy(path(name)).unwrap(), (vec![5], values.clone()));
}
