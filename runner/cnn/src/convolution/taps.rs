//! Weights of the kernel taps that reach the input (`Geometry::useful_taps`). On a one-pixel image
//! only one tap of a 3×3 kernel does, and eight ninths of the weights would be read unnecessarily.

use crate::geometry::Geometry;

/// Kernel planes restored at once, few enough to stay in the cache.
const PLANES: usize = 1 << 9;

/// Returns the weights of the useful taps, or `None` if all taps are useful.
pub fn pick(whole: &Geometry, weights: &[f32]) -> Option<Vec<f32>> {
    let [down, across] = whole.useful_taps();
    let [rows, columns] = whole.kernel;
    match [down.len(), across.len()] {
        useful if useful == whole.kernel => None,
        [1, 1] => {
            let lone = &weights[down.start * columns + across.start..];
            Some(lone.iter().step_by(rows * columns).copied().collect())
        }
        _ => {
            let mut few = Vec::with_capacity(weights.len() / (rows * columns) * down.len() * across.len());
            for plane in weights.chunks_exact(rows * columns) {
                down.clone().for_each(|row| few.extend_from_slice(&plane[row * columns..][across.clone()]));
            }
            Some(few)
        }
    }
}

/// Expands numbers of the useful taps to the whole kernel, with zeros elsewhere.
pub fn put_back(whole: &Geometry, few: Vec<f32>) -> Vec<f32> {
    let [down, across] = whole.useful_taps();
    let [rows, columns] = whole.kernel;
    let useful = down.len() * across.len();
    if useful == rows * columns {
        return few;
    }
    let mut all = Vec::with_capacity(few.len() / useful * rows * columns);
    for few in few.chunks(PLANES * useful) {
        let first = all.len();
        all.resize(first + few.len() / useful * rows * columns, 0.0);
        if useful == 1 {
            let lone = &mut all[first + down.start * columns + across.start..];
            lone.iter_mut().step_by(rows * columns).zip(few).for_each(|(to, from)| *to = *from);
            continue;
        }
        for (plane, few) in all[first..].chunks_exact_mut(rows * columns).zip(few.chunks_exact(useful)) {
            for (row, few) in down.clone().zip(few.chunks_exact(across.len())) {
                plane[row * columns..][across.clone()].copy_from_slice(few);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use burn::nn::PaddingConfig2d;

    use super::*;

    #[test]
    fn picked_weights_are_put_back_in_their_places() {
        let padding = PaddingConfig2d::Explicit(1, 1, 1, 1);
        for (side, stride, useful) in [(1, 1, vec![4]), (2, 2, vec![4, 5, 7, 8]), (3, 1, (0..9).collect())] {
            let whole = Geometry::of([1, 40, side, side], 30, [3, 3], [stride; 2], &padding).unwrap();
            let weights: Vec<f32> = (1..=40 * 30 * 9).map(|number| number as f32).collect();
            let kept = weights.iter().enumerate().filter(|(place, _)| useful.contains(&(place % 9)));
            let kept: Vec<f32> = kept.map(|(_, number)| *number).collect();
            match pick(&whole, &weights) {
                None => assert_eq!(kept, weights),
                Some(few) => assert_eq!(few, kept),
            }
            let back = put_back(&whole, kept);
            for (place, number) in back.iter().enumerate() {
                let expected = if useful.contains(&(place % 9)) { weights[place] } else { 0.0 };
                assert_eq!(*number, expected, "{side} px, place {place}");
            }
            assert_eq!(back.len(), weights.len());
        }
    }
}
