//! Fields as NumPy arrays: `numpy.load("density_0010.npy")`.

use crate::output::{IoError, OutputFile};
use std::io::Write;
use std::path::Path;

/// Writes an array of `f32` in NumPy's format 1.0, little endian. `shape` is NumPy's: the LAST axis is the fastest.
/// A field of Squall with `nx * ny * nz` cells, x fastest, has the shape `[nz, ny, nx]`.
pub fn write_npy(path: impl AsRef<Path>, shape: &[usize], values: &[f32]) -> Result<(), IoError> {
    let path = path.as_ref();
    let count = shape.iter().try_fold(1usize, |count, &n| count.checked_mul(n));
    if count != Some(values.len()) {
        return Err(IoError::content(path, format!("{} values do not fill the shape {shape:?}", values.len())));
    }
    let mut file = OutputFile::create(path)?;
    write(&mut file, shape, values).map_err(|e| file.explain(e))?;
    file.finish()
}

/// Reads an array as [`write_npy`] writes it: its shape and its values.
pub fn read_npy(path: impl AsRef<Path>) -> Result<(Vec<usize>, Vec<f32>), IoError> {
    let path = path.as_ref();
    let bytes = crate::read_file(path).map_err(IoError::file(path, "read"))?;
    parse(&bytes).ok_or_else(|| IoError::content(path, "not an array of 32-bit floats as Squall writes them"))
}

fn parse(bytes: &[u8]) -> Option<(Vec<usize>, Vec<f32>)> {
    let rest = bytes.strip_prefix(b"\x93NUMPY\x01\x00")?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (header, data) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    let header = std::str::from_utf8(header).ok()?;
    let entries = header.strip_prefix("{'descr': '<f4', 'fortran_order': False, 'shape': (")?.split_once(')')?.0;
    let numbers = entries.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let shape: Vec<usize> = numbers.map(|entry| entry.parse().ok()).collect::<Option<_>>()?;
    let (values, odd) = data.as_chunks::<4>();
    let count = shape.iter().try_fold(1usize, |count, &n| count.checked_mul(n))?;
    (odd.is_empty() && values.len() == count).then(|| (shape, values.iter().map(|&b| f32::from_le_bytes(b)).collect()))
}

fn write(file: &mut OutputFile, shape: &[usize], values: &[f32]) -> std::io::Result<()> {
    // The comma after each entry makes `(5,)` a tuple.
    let entries: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let dictionary = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", entries.trim_end());
    // Magic, version, length, dictionary and a line feed fill a multiple of 64 bytes, as the format asks.
    let padding = (64 - (10 + dictionary.len() + 1) % 64) % 64;
    let length = (dictionary.len() + padding + 1) as u16;
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&length.to_le_bytes())?;
    writeln!(file, "{dictionary}{:padding$}", "")?;
    for some in values.chunks(1 << 14) {
        let bytes: Vec<u8> = some.iter().flat_map(|value| value.to_le_bytes()).collect();
        file.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn an_array_can_be_parsed_back_by_hand() {
        let folder = TestFolder::new("npy");
        let path = folder.join("a.npy");
        let values: Vec<f32> = (0..24).map(|i| i as f32 * 0.37 - 2.0).collect();
        write_npy(&path, &[2, 3, 4], &values).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
        let start = 10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
        assert_eq!(start % 64, 0);
        let header = std::str::from_utf8(&bytes[10..start]).unwrap();
        assert_eq!(header.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4,), }");
        assert!(header.ends_with('\n'));
        let back: Vec<f32> = bytes[start..].as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        assert_eq!(back, values);
        assert_eq!(read_npy(&path).unwrap(), (vec![2, 3, 4], values));
        // Whatever is missing, it is no array.
        for end in 0..bytes.len() {
            assert_eq!(parse(&bytes[..end]), None, "{end}");
        }
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused() {
        let folder = TestFolder::new("npy-shape");
        assert!(write_npy(folder.join("a.npy"), &[2, 2], &[1.0; 5]).is_err());
        assert!(write_npy(folder.join("a.npy"), &[usize::MAX, 2], &[1.0; 5]).is_err());
        assert!(folder.names().is_empty());
    }
}
