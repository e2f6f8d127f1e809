use super::*;
use crate::test_folder::TestFolder;
use std::fs;

const SCENE: SceneHash = SceneHash([7; 32]);
const HERE: Position = Position { frame: 12, step: 345 };

#[derive(Clone, Debug)]
struct State {
    steps: u64,
    time: f64,
    density: Vec<f32>,
    empty: Vec<f32>,
}

impl State {
    fn new(n: usize) -> Self {
        let density = (0..n).map(|i| f32::from_bits((i as u32).wrapping_mul(2_654_435_761))).collect();
        Self { steps: 42, time: 0.1 + 0.2, density, empty: vec![] }
    }

    fn blank(n: usize) -> Self {
        Self { steps: 0, time: 0.0, density: vec![0.0; n], empty: vec![] }
    }

    fn visit(&mut self, v: &mut dyn StateVisitor) {
        v.integer("steps", &mut self.steps);
        v.real("time", &mut self.time);
        v.array("density", &mut self.density);
        v.array("empty", &mut self.empty);
    }

    fn bits(&self) -> (u64, u64, Vec<u32>) {
        (self.steps, self.time.to_bits(), self.density.iter().map(|v| v.to_bits()).collect())
    }
}

fn write(path: &Path, state: &State) {
    save(path, SCENE, HERE, |v| state.clone().visit(v)).unwrap();
}

fn read(path: &Path, n: usize) -> Result<State, CheckpointError> {
    let mut state = State::blank(n);
    Checkpoint::open(path, SCENE)?.restore(|v| state.visit(v))?;
    Ok(state)
}

#[test]
fn a_state_comes_back_bit_by_bit_even_its_nans() {
    let folder = TestFolder::new("cp-round");
    let path = folder.join("checkpoint.sqc");
    // Several chunks, several batches, and an uneven end; every bit pattern class of f32 is among the values.
    for n in [0, 1, 1000, CHUNK, CHUNK + 1, CHUNK * BATCH + 5] {
        let mut state = State::new(n);
        state.time = f64::from_bits(0x7ff8_dead_beef_0001);
        write(&path, &state);
        assert_eq!(Checkpoint::open(&path, SCENE).unwrap().position, HERE);
        assert!(read(&path, n).unwrap().bits() == state.bits(), "{n} values");
    }
}

/// A list, and parts.
fn visit_lists(v: &mut dyn StateVisitor, list: &mut Vec<u64>, parts: &mut u64) {
    squall_core::visit::visit_list(v, "list", list);
    v.parts("parts", parts);
}

/// A checkpoint with the count in front of `name` changed, and its checksum made right again.
fn forged(path: &Path, name: &str, count: u64) {
    let mut file = fs::read(path).unwrap();
    let key = [&[b'i', name.len() as u8], name.as_bytes()].concat();
    let at = file.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    file[at..at + 8].copy_from_slice(&count.to_le_bytes());
    let end = file.len() - 4;
    let crc = crc32fast::hash(&file[..end]);
    file[end..].copy_from_slice(&crc.to_le_bytes());
    fs::write(path, file).unwrap();
}

#[test]
fn counts_that_the_file_cannot_hold_take_no_memory() {
    let folder = TestFolder::new("cp-counts");
    let path = folder.join("checkpoint.sqc");
    let restore = || {
        let (mut list, mut parts) = (vec![1, 2], 0);
        let position = Checkpoint::open(&path, SCENE)?.restore(|v| visit_lists(v, &mut list, &mut parts))?;
        assert!(list.capacity() < 1000 && parts < 1000);
        Ok::<_, CheckpointError>((position, list, parts))
    };
    let write = || save(&path, SCENE, HERE, |v| visit_lists(v, &mut vec![5, 6, u64::MAX], &mut 7)).unwrap();
    write();
    assert_eq!(restore().unwrap(), (HERE, vec![5, 6, u64::MAX], 7));
    for name in ["list", "parts"] {
        for count in [1_u64 << 31, 1 << 40, 1 << 60, u64::MAX] {
            write();
            forged(&path, name, count);
            let error = restore().unwrap_err();
            assert!(matches!(&error, CheckpointError::Damaged { what, .. } if what.contains(name)), "{error}");
        }
    }
    write();
    forged(&path, "list", 0);
    assert!(restore().is_err());
}

#[test]
fn a_wrong_version_falls_back_to_the_generation_before() {
    let folder = TestFolder::new("cp-version");
    let path = folder.join("checkpoint.sqc");
    write(&path, &State::new(3));
    write(&path, &State::new(3));
    let mut file = fs::read(&path).unwrap();
    file[9] ^= 1;
    fs::write(&path, &file).unwrap();
    let (_, why) = open_latest(&path, SCENE).unwrap();
    assert!(matches!(why, Some(CheckpointError::Version { .. })));
    fs::write(previous_generation(&path), &file).unwrap();
    assert!(matches!(open_latest(&path, SCENE), Err(CheckpointError::Version { .. })));
}

#[test]
fn equal_states_give_equal_files_for_any_number_of_threads() {
    let folder = TestFolder::new("cp-threads");
    let state = State::new(5 * CHUNK + 3);
    let mut files = Vec::new();
    for threads in [1, 2, 3, 7] {
        let path = folder.join(format!("{threads}.sqc"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| write(&path, &state));
        files.push(fs::read(path).unwrap());
    }
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn every_truncation_is_an_error() {
    let folder = TestFolder::new("cp-truncated");
    let path = folder.join("checkpoint.sqc");
    write(&path, &State::new(100));
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(read(&path, 100), Err(CheckpointError::Truncated { .. })), "{length} bytes");
    }
}

#[test]
fn every_flipped_bit_is_an_error() {
    let folder = TestFolder::new("cp-flipped");
    let path = folder.join("checkpoint.sqc");
    write(&path, &State::new(20));
    let whole = fs::read(&path).unwrap();
    for bit in 0..8 * whole.len() {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        assert!(read(&path, 20).is_err(), "bit {bit}");
    }
}

#[test]
fn a_forged_checksum_does_not_lead_to_a_panic_or_a_large_allocation() {
    let folder = TestFolder::new("cp-forged");
    let path = folder.join("checkpoint.sqc");
    write(&path, &State::new(20));
    let whole = fs::read(&path).unwrap();
    let body = whole.len() - 4;
    for at in HEADER..body {
        for value in [0, 1, 0x7f, 0xff, whole[at].wrapping_add(1)] {
            let mut bytes = whole[..body].to_vec();
            bytes[at] = value;
            let crc = crc32fast::hash(&bytes);
            bytes.extend(crc.to_le_bytes());
            fs::write(&path, &bytes).unwrap();
            // Errors are welcome and so are other values of the numbers: only a panic is wrong.
            let _ = read(&path, 20);
        }
    }
}

#[test]
fn random_bytes_are_not_a_checkpoint() {
    let folder = TestFolder::new("cp-random");
    let path = folder.join("checkpoint.sqc");
    for seed in 1..200u32 {
        let bytes: Vec<u8> = (0..seed * 3).map(|i| ((i ^ seed).wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(&path, bytes).unwrap();
        assert!(matches!(read(&path, 20), Err(CheckpointError::NotACheckpoint { .. })));
    }
}

#[test]
fn errors_say_what_is_different() {
    let folder = TestFolder::new("cp-errors");
    let path = folder.join("checkpoint.sqc");
    write(&path, &State::new(20));
    let message = |result: Result<State, CheckpointError>| result.unwrap_err().to_string();

    assert!(message(read(&path, 21)).ends_with("`density` has 20 values, not 21"));
    assert!(message(read(&folder.join("none.sqc"), 20)).contains("none.sqc"));

    let other = Checkpoint::open(&path, SceneHash([8; 32])).unwrap_err();
    assert!(matches!(&other, CheckpointError::Scene { .. }), "{other}");

    let renamed = Checkpoint::open(&path, SCENE).unwrap().restore(|v| v.integer("frames", &mut 0)).unwrap_err();
    assert!(renamed.to_string().ends_with("it holds the integer `steps` where the integer `frames` belongs"));
    let retyped = Checkpoint::open(&path, SCENE).unwrap().restore(|v| v.real("steps", &mut 0.0)).unwrap_err();
    assert!(retyped.to_string().ends_with("it holds the integer `steps` where the number `steps` belongs"));
    let fewer = Checkpoint::open(&path, SCENE).unwrap().restore(|v| v.integer("steps", &mut 0)).unwrap_err();
    assert!(fewer.to_string().ends_with("it holds more than the simulation asks for"));
    let mut state = State::blank(20);
    let more = Checkpoint::open(&path, SCENE).unwrap().restore(|v| {
        state.visit(v);
        v.integer("particles", &mut 0);
    });
    assert!(more.unwrap_err().to_string().ends_with("`particles` is missing"));

    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 99;
    fs::write(&path, bytes).unwrap();
    assert!(message(read(&path, 20)).ends_with("format version 99, but this Squall reads version 2"));
}

#[test]
fn the_previous_generation_serves_when_the_newest_is_damaged() {
    let folder = TestFolder::new("cp-generations");
    let path = folder.join("checkpoint.sqc");
    assert!(open_latest(&path, SCENE).unwrap_err().is_damage());
    for frame in [1, 2, 3] {
        let mut state = State::new(20);
        save(&path, SCENE, Position { frame, step: 10 * frame }, |v| state.visit(v)).unwrap();
    }
    assert_eq!(folder.names(), ["checkpoint.prev.sqc", "checkpoint.sqc"]);
    let (newest, fault) = open_latest(&path, SCENE).unwrap();
    assert!(newest.position.frame == 3 && fault.is_none());

    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let (older, fault) = open_latest(&path, SCENE).unwrap();
    assert!(older.position.frame == 2 && matches!(fault, Some(CheckpointError::Truncated { .. })));

    // Killed between the two renames: only the previous one is there.
    fs::remove_file(&path).unwrap();
    assert_eq!(open_latest(&path, SCENE).unwrap().0.position.frame, 2);

    // Another scene is no damage: there is nothing to fall back to.
    assert!(matches!(open_latest(previous_generation(&path), SceneHash([0; 32])), Err(CheckpointError::Scene { .. })));
}

#[test]
fn an_endless_name_is_an_error_and_writes_nothing() {
    let folder = TestFolder::new("cp-name");
    let error = save(folder.join("a.sqc"), SCENE, HERE, |v| v.integer(&"n".repeat(300), &mut 1)).unwrap_err();
    assert!(error.to_string().contains("longer than 255"), "{error}");
    assert!(folder.names().is_empty());
}

#[test]
fn the_entries_of_any_scene_can_be_listed() {
    let folder = TestFolder::new("cp-list");
    let path = folder.join("checkpoint.sqc");
    let n = 2 * CHUNK + 7;
    write(&path, &State::new(n));
    let checkpoint = Checkpoint::open_any(&path).unwrap();
    assert_eq!((checkpoint.scene, checkpoint.position), (SCENE, HERE));
    let entries = checkpoint.entries().unwrap();
    let named = |name: &str| entries.iter().find(|(n, _)| n == name).unwrap().1;
    assert_eq!(named("steps"), Entry::Integer(42));
    assert_eq!(named("time"), Entry::Real(0.1 + 0.2));
    assert_eq!(named("density"), Entry::Array(n as u64));
    assert_eq!((named("empty"), entries.len()), (Entry::Array(0), 4));
}
