#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| squall_fuzz::svg(data));
