//! Products of vectors.
//!
//! Sums have a fixed number of lanes, so that every machine gives the same bytes at any width of
//! its registers.

/// Number of partial sums of a dot product.
const LANES: usize = 4;

/// Σ aᵢbᵢ.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let [sum] = dots(a, [b]);
    sum
}

/// Returns Σ aᵢbᵢ for each b, all as long as a, in four interleaved partial sums.
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "AVX2 is found when the program runs"))]
pub(crate) fn dots<const N: usize>(a: &[f64], bs: [&[f64]; N]) -> [f64; N] {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return simd128::dots(a, bs);
    #[cfg(target_arch = "x86_64")]
    if a.len() >= avx2::LEAST && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, which is all that the function needs.
        return unsafe { avx2::dots(a, bs) };
    }
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    scalar(a, bs)
}

/// As [`dots`], for every processor.
#[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
fn scalar<const N: usize>(a: &[f64], bs: [&[f64]; N]) -> [f64; N] {
    let bs = bs.map(|b| &b[..a.len()]);
    let mut lanes = [[0.0; LANES]; N];
    for (i, a) in a.as_chunks::<LANES>().0.iter().enumerate() {
        for (lanes, b) in lanes.iter_mut().zip(&bs) {
            let b = b.as_chunks::<LANES>().0;
            for lane in 0..LANES {
                lanes[lane] += a[lane] * b[i][lane];
            }
        }
    }
    total(lanes, a, bs)
}

/// Adds up the partial sums, and the products after the last whole chunk.
#[inline]
fn total<const N: usize>(lanes: [[f64; LANES]; N], a: &[f64], bs: [&[f64]; N]) -> [f64; N] {
    std::array::from_fn(|n| {
        let [one, two, three, four] = lanes[n];
        let rest = a.as_chunks::<LANES>().1.iter().zip(bs[n].as_chunks::<LANES>().1);
        ((one + three) + (two + four)) + rest.map(|(a, b)| a * b).sum::<f64>()
    })
}

/// Computes a += factor · b, as far as both reach.
pub fn add_scaled(a: &mut [f64], factor: f64, b: &[f64]) {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    let (a, b) = simd128::add_scaled(a, factor, b);
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

/// Four lanes in one register: the same digits in half the time.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, _mm256_add_pd, _mm256_loadu_pd, _mm256_mul_pd, _mm256_setzero_pd, _mm256_storeu_pd,
    };

    use super::LANES;

    /// Least length for which the call pays.
    pub(super) const LEAST: usize = 16;

    /// As [`super::dots`].
    #[target_feature(enable = "avx2")]
    pub(super) fn dots<const N: usize>(a: &[f64], bs: [&[f64]; N]) -> [f64; N] {
        let bs = bs.map(|b| &b[..a.len()]);
        let chunks = bs.map(|b| b.as_chunks::<LANES>().0);
        let mut sums = [_mm256_setzero_pd(); N];
        for (i, a) in a.as_chunks::<LANES>().0.iter().enumerate() {
            let a = load(a);
            for (sum, b) in sums.iter_mut().zip(&chunks) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(a, load(&b[i])));
            }
        }
        super::total(sums.map(|sum| store(sum)), a, bs)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    fn load(values: &[f64; LANES]) -> __m256d {
        // SAFETY: the reference is valid for the four numbers that are read, of any alignment.
        unsafe { _mm256_loadu_pd(values.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    fn store(register: __m256d) -> [f64; LANES] {
        let mut values = [0.0; LANES];
        // SAFETY: the array is valid for the four numbers that are written, of any alignment.
        unsafe { _mm256_storeu_pd(values.as_mut_ptr(), register) };
        values
    }
}

/// Two registers of two lanes: the same digits in about half of the time, because the module of
/// the browser is linked for size and not vectorised.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128 {
    use std::arch::wasm32::{f64x2_add, f64x2_extract_lane, f64x2_mul, f64x2_splat, v128, v128_load};

    use super::LANES;

    /// As [`super::dots`].
    pub(super) fn dots<const N: usize>(a: &[f64], bs: [&[f64]; N]) -> [f64; N] {
        let bs = bs.map(|b| &b[..a.len()]);
        let chunks = bs.map(|b| b.as_chunks::<LANES>().0);
        let mut sums = [[f64x2_splat(0.0); 2]; N];
        for (i, a) in a.as_chunks::<LANES>().0.iter().enumerate() {
            let a = load(a);
            for (sum, b) in sums.iter_mut().zip(&chunks) {
                let b = load(&b[i]);
                *sum = [f64x2_add(sum[0], f64x2_mul(a[0], b[0])), f64x2_add(sum[1], f64x2_mul(a[1], b[1]))];
            }
        }
        super::total(sums.map(store), a, bs)
    }

    /// Computes a += factor · b up to the last whole chunk, and returns what is left.
    pub(super) fn add_scaled<'a, 'b>(a: &'a mut [f64], factor: f64, b: &'b [f64]) -> (&'a mut [f64], &'b [f64]) {
        let length = a.len().min(b.len());
        let (chunks, a) = a[..length].as_chunks_mut::<LANES>();
        let (chunks_of_b, b) = b[..length].as_chunks::<LANES>();
        let factor = f64x2_splat(factor);
        for (chunk, b) in chunks.iter_mut().zip(chunks_of_b) {
            let (sum, b) = (load(chunk), load(b));
            *chunk = store([0, 1].map(|half| f64x2_add(sum[half], f64x2_mul(factor, b[half]))));
        }
        (a, b)
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    fn load(values: &[f64; LANES]) -> [v128; 2] {
        let first = values.as_ptr().cast();
        // SAFETY: the reference is valid for the four numbers that are read, of any alignment.
        unsafe { [v128_load(first), v128_load(first.add(1))] }
    }

    #[inline(always)]
    fn store([low, high]: [v128; 2]) -> [f64; LANES] {
        let [one, two] = [f64x2_extract_lane::<0>(low), f64x2_extract_lane::<1>(low)];
        [one, two, f64x2_extract_lane::<0>(high), f64x2_extract_lane::<1>(high)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_gives_the_same_digits() {
        let entry = |i: usize| libm::sin(i as f64 * 12.9898) * 43_758.545;
        for length in 0..70 {
            let [a, b]: [Vec<f64>; 2] = [0, 1000].map(|first| (first..first + length).map(entry).collect());
            let mut lanes = [0.0; LANES];
            for (i, product) in a.iter().zip(&b).map(|(a, b)| a * b).enumerate().take(length / LANES * LANES) {
                lanes[i % LANES] += product;
            }
            let [expected] = total([lanes], &a, [&b]);
            assert_eq!(dots(&a, [&b, &a, &b]).map(f64::to_bits)[2], expected.to_bits(), "{length}");
        }
    }
}
