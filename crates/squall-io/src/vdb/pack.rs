//! The values of nodes as bytes, and back.
//!
//! A node's values are a byte that tells what its inactive values are, perhaps those, then a list of values: all of
//! them, or the active ones only. The list is a run of bytes, or its length (`i64`) and that many packed bytes; a
//! length below zero says that the bytes are not packed after all.

use half::f16;
use half::slice::HalfFloatSliceExt;
use miniz_oxide::deflate::core::{self as deflate, CompressorOxide, TDEFLFlush, TDEFLStatus};

use super::tree::{count, is_set, ones};
use super::wire::{Cursor, Parsed};
use super::{VdbCompression, VdbPrecision, blosc};

/// How the values of a grid are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub half: bool,
    pub active_only: bool,
    pub packing: Packing,
}

/// What is done to lists of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Zip,
    Blosc,
}

const ZIP: u32 = 1;
const ACTIVE_ONLY: u32 = 2;
const BLOSC: u32 = 4;

impl Format {
    pub fn new(compression: VdbCompression, precision: VdbPrecision) -> Self {
        let packing = if compression == VdbCompression::Zip { Packing::Zip } else { Packing::Plain };
        let active_only = compression != VdbCompression::None;
        Self { half: precision == VdbPrecision::Half, active_only, packing }
    }

    pub fn from_flags(flags: u32, half: bool) -> Parsed<Self> {
        if flags & !(ZIP | ACTIVE_ONLY | BLOSC) != 0 {
            return Err(format!("its compression ({flags:#x}) is unknown"));
        }
        let packing = match flags {
            f if f & BLOSC != 0 => Packing::Blosc,
            f if f & ZIP != 0 => Packing::Zip,
            _ => Packing::Plain,
        };
        Ok(Self { half, active_only: flags & ACTIVE_ONLY != 0, packing })
    }

    pub fn flags(self) -> u32 {
        let packing = match self.packing {
            Packing::Plain => 0,
            Packing::Zip => ZIP,
            Packing::Blosc => BLOSC,
        };
        packing | if self.active_only { ACTIVE_ONLY } else { 0 }
    }

    /// The words that OpenVDB has for it.
    pub fn describe(self) -> String {
        let packing = match self.packing {
            Packing::Plain => None,
            Packing::Zip => Some("zip"),
            Packing::Blosc => Some("blosc"),
        };
        let parts: Vec<&str> = packing.into_iter().chain(self.active_only.then_some("active values")).collect();
        if parts.is_empty() { "none".into() } else { parts.join(" + ") }
    }

    /// What becomes of a value that is written and read.
    pub fn round(self, value: f32) -> f32 {
        if self.half { f16::from_f32(saturated(value)).to_f32() } else { value }
    }
}

/// As large as 16 bits can hold: beyond lies only infinity, which other programs stumble over.
fn saturated(value: f32) -> f32 {
    value.clamp(-f16::MAX.to_f32_const(), f16::MAX.to_f32_const())
}

/// What the inactive values of a node are, when only active ones are listed.
mod inactive {
    /// All are the background.
    pub const BACKGROUND: u8 = 0;
    /// All are the negative of the background.
    pub const NEGATIVE: u8 = 1;
    /// All are one other value, which follows.
    pub const ONE: u8 = 2;
    /// A mask follows: where it is set the background, elsewhere the negative of it.
    pub const BACKGROUND_OR_NEGATIVE: u8 = 3;
    /// A value and a mask follow: where it is set the background, elsewhere the value.
    pub const BACKGROUND_OR_ONE: u8 = 4;
    /// Two values and a mask follow: where it is set the second, elsewhere the first.
    pub const TWO: u8 = 5;
    /// Many: all values are listed, active or not.
    pub const MANY: u8 = 6;
}

/// Writes values. One per thread: the deflater is large.
pub struct Packer {
    format: Format,
    deflater: CompressorOxide,
    listed: Vec<f32>,
    halves: Vec<f16>,
    plain: Vec<u8>,
    zipped: Vec<u8>,
}

impl Packer {
    pub fn new(format: Format) -> Self {
        // Level 1: higher ones take twice the time to save another hundredth. 15: with a zlib header.
        let flags = deflate::create_comp_flags_from_zip_params(1, 15, 0);
        Self {
            format,
            deflater: CompressorOxide::new(flags),
            listed: Vec::new(),
            halves: Vec::new(),
            plain: Vec::new(),
            zipped: Vec::new(),
        }
    }

    /// Writes the values of a node. Inactive values are the background, or its negative where `negative` is set.
    pub fn put<const N: usize>(&mut self, out: &mut Vec<u8>, active: &[u64], negative: &[u64], values: &[[f32; N]]) {
        self.listed.clear();
        if !self.format.active_only {
            out.push(inactive::MANY);
            self.listed.extend_from_slice(values.as_flattened());
        } else {
            if negative.iter().all(|&word| word == 0) {
                out.push(inactive::BACKGROUND);
            } else {
                out.push(inactive::BACKGROUND_OR_NEGATIVE);
                negative.iter().for_each(|word| out.extend_from_slice(&(!word).to_le_bytes()));
            }
            if active.iter().all(|&word| word == u64::MAX) {
                self.listed.extend_from_slice(values.as_flattened());
            } else {
                ones(active).for_each(|i| self.listed.extend_from_slice(&values[i]));
            }
        }
        self.put_list(out);
    }

    fn put_list(&mut self, out: &mut Vec<u8>) {
        if self.format.half {
            // An empty list of half floats has not even a length.
            if self.listed.is_empty() {
                return;
            }
            self.halves.resize(self.listed.len(), f16::ZERO);
            self.listed.iter_mut().for_each(|v| *v = saturated(*v));
            self.halves.convert_from_f32_slice(&self.listed);
            self.plain.resize(2 * self.halves.len(), 0);
            let to = self.plain.as_chunks_mut().0;
            to.iter_mut().zip(&self.halves).for_each(|(bytes, h)| *bytes = h.to_le_bytes());
        } else {
            self.plain.resize(4 * self.listed.len(), 0);
            let to = self.plain.as_chunks_mut().0;
            to.iter_mut().zip(&self.listed).for_each(|(bytes, v)| *bytes = v.to_le_bytes());
        }
        if self.format.packing == Packing::Plain {
            out.extend_from_slice(&self.plain);
        } else if self.deflate() {
            out.extend_from_slice(&(self.zipped.len() as i64).to_le_bytes());
            out.extend_from_slice(&self.zipped);
        } else {
            out.extend_from_slice(&(-(self.plain.len() as i64)).to_le_bytes());
            out.extend_from_slice(&self.plain);
        }
    }

    /// Deflates `plain` into `zipped`. False if it would save less than an eighth.
    fn deflate(&mut self) -> bool {
        let worth = self.plain.len() / 8 * 7;
        if entropy(&self.plain) + CODE_BYTES > worth {
            return false;
        }
        self.deflater.reset();
        self.zipped.resize(self.plain.len(), 0);
        let (status, _, length) =
            deflate::compress(&mut self.deflater, &self.plain, &mut self.zipped, TDEFLFlush::Finish);
        self.zipped.truncate(length);
        status == TDEFLStatus::Done && length < self.plain.len()
    }
}

/// About what deflate needs to tell its code for the values of a leaf.
const CODE_BYTES: usize = 64;

/// The bytes that remain if each byte value gets the code length that its frequency deserves:
/// `sum_b n_b log2(n / n_b) / 8`. Values of a smooth field are mostly noise in the lower bits: to deflate all leaves of a
/// plume takes five times as long as to write them and saves a tenth. This tells beforehand where it pays.
///
/// In integers, so that the choice is the same everywhere: `log2 c` is `floor(log2(c^4)) / 4`.
fn entropy(bytes: &[u8]) -> usize {
    let mut counts = [0_u64; 256];
    bytes.iter().for_each(|&b| counts[usize::from(b)] += 1);
    let log = |c: u64| u64::from((c * c * c * c).max(1).ilog2());
    let n = bytes.len() as u64;
    let quarter_bits = n * log(n) - counts.iter().map(|&c| c * log(c)).sum::<u64>();
    (quarter_bits / 32) as usize
}

/// Reads values.
pub struct Unpacker {
    format: Format,
    plain: Vec<u8>,
    halves: Vec<f16>,
    listed: Vec<f32>,
}

impl Unpacker {
    pub fn new(format: Format) -> Self {
        Self { format, plain: Vec::new(), halves: Vec::new(), listed: Vec::new() }
    }

    /// Reads all values of a node, `values.len()` of them.
    pub fn get<const N: usize>(
        &mut self,
        from: &mut Cursor<'_>,
        active: &[u64],
        background: [f32; N],
        values: &mut [[f32; N]],
    ) -> Parsed<()> {
        use inactive::*;
        let kind = from.u8()?;
        if kind > MANY {
            return Err(format!("inactive values of the kind {kind} are unknown"));
        }
        let mut on = background;
        let mut off = match kind {
            NEGATIVE | BACKGROUND_OR_NEGATIVE => background.map(|v| -v),
            _ => background,
        };
        if matches!(kind, ONE | BACKGROUND_OR_ONE | TWO) {
            off = from.f32s()?;
        }
        if kind == TWO {
            on = from.f32s()?;
        }
        let has_choice = matches!(kind, BACKGROUND_OR_NEGATIVE | BACKGROUND_OR_ONE | TWO);
        let choice = if has_choice { Some(from.mask(values.len())?) } else { None };

        if !self.format.active_only || kind == MANY {
            self.get_list(from, N * values.len())?;
            values.as_flattened_mut().copy_from_slice(&self.listed);
            return Ok(());
        }
        self.get_list(from, N * count(active))?;
        if self.listed.is_empty() && choice.is_none() {
            values.fill(off);
            return Ok(());
        }
        let (listed, _) = self.listed.as_chunks::<N>();
        let mut listed = listed.iter();
        for (i, value) in values.iter_mut().enumerate() {
            *value = match (is_set(active, i), &choice) {
                // One is listed for each bit that is set.
                (true, _) => *listed.next().unwrap_or(&background),
                (false, Some(choice)) if is_set(choice, i) => on,
                _ => off,
            };
        }
        Ok(())
    }

    fn get_list(&mut self, from: &mut Cursor<'_>, count: usize) -> Parsed<()> {
        self.listed.clear();
        if self.format.half && count == 0 {
            return Ok(());
        }
        self.plain.clear();
        self.plain.resize(count * if self.format.half { 2 } else { 4 }, 0);
        if self.format.packing == Packing::Plain {
            let bytes = from.take(self.plain.len())?;
            self.plain.copy_from_slice(bytes);
        } else {
            self.unpack(from)?;
        }
        if self.format.half {
            self.halves.clear();
            self.halves.extend(self.plain.as_chunks().0.iter().map(|b| f16::from_le_bytes(*b)));
            self.listed.resize(count, 0.0);
            self.halves.convert_to_f32_slice(&mut self.listed);
        } else {
            self.listed.extend(self.plain.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)));
        }
        Ok(())
    }

    /// Fills `plain`, whose length is what belongs there.
    fn unpack(&mut self, from: &mut Cursor<'_>) -> Parsed<()> {
        let wanted = self.plain.len();
        let length = from.i64()?;
        let stored = usize::try_from(length.unsigned_abs()).map_err(|_| format!("a list of {length} bytes"))?;
        if length <= 0 {
            if stored != wanted {
                return Err(format!("a list of {stored} bytes where {wanted} belong"));
            }
            self.plain.copy_from_slice(from.take(stored)?);
            return Ok(());
        }
        let packed = from.take(stored)?;
        if self.format.packing == Packing::Blosc {
            return blosc::unpack(packed, &mut self.plain);
        }
        let got = miniz_oxide::inflate::decompress_slice_iter_to_slice(
            &mut self.plain,
            std::iter::once(packed),
            true,  // with a zlib header
            false, // and its checksum
        );
        match got {
            Ok(length) if length == wanted => Ok(()),
            Ok(length) => Err(format!("{length} bytes in a zip block where {wanted} belong")),
            Err(why) => Err(format!("a zip block cannot be unpacked ({why:?})")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_that_of_simple_lists() {
        assert_eq!(entropy(&[]), 0);
        assert_eq!(entropy(&[7; 2048]), 0);
        // Two values, evenly: a bit each. All 256, evenly: no saving.
        let two: Vec<u8> = (0..2048).map(|i| (i % 2) as u8).collect();
        assert_eq!(entropy(&two), 2048 / 8);
        let all: Vec<u8> = (0..2048).map(|i| i as u8).collect();
        assert_eq!(entropy(&all), 2048);
    }

    #[test]
    fn noise_is_stored_and_runs_are_deflated() {
        let mut packer = Packer::new(Format::new(VdbCompression::Zip, VdbPrecision::Full));
        let mut out = Vec::new();
        packer.put(&mut out, &[u64::MAX; 8], &[0; 8], &[[1.0_f32]; 512]);
        assert!(out.len() < 100, "{}", out.len());
        out.clear();
        let noise: Vec<[f32; 1]> = (0..512_u32).map(|i| [f32::from_bits(i.wrapping_mul(2_654_435_761) >> 2)]).collect();
        packer.put(&mut out, &[u64::MAX; 8], &[0; 8], &noise);
        assert_eq!(out.len(), 1 + 8 + 2048);
        assert_eq!(out[1..9], (-2048_i64).to_le_bytes());
    }
}
