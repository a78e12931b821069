//! What a unit of each kind of work takes, from how much of each some kernels do and how long they take: least squares of the relative errors,
//! with no result below zero (Lawson and Hanson, *Solving Least Squares Problems*, 1974, chapter 23).
//!
//! One coordinate after another is put where the sum of squares is least with the others as they are (Gauss-Seidel on the normal equations, cut off at
//! zero), which goes down in each step and ends where nothing moves; the problem is convex, so that is the least of all.

/// Most rounds over all coordinates.
const MOST_ROUNDS: usize = 100_000;
/// A round in which no coordinate moves by more (nanoseconds) is the last.
const STILL: f64 = 1e-6;

/// Nanoseconds of a unit of each column. A row is the units of a kernel, and its nanoseconds, more than 0.
pub fn fit<const N: usize>(rows: &[([f64; N], f64)]) -> [f64; N] {
    let relative: Vec<[f64; N]> = rows.iter().map(|(units, ns)| units.map(|of_one| of_one / ns)).collect();
    let (mut squares, mut sums) = ([[0.0; N]; N], [0.0; N]);
    for row in &relative {
        for i in 0..N {
            sums[i] += row[i];
            for j in 0..N {
                squares[i][j] += row[i] * row[j];
            }
        }
    }
    let mut found = [0.0; N];
    for _ in 0..MOST_ROUNDS {
        let mut moved = 0.0f64;
        for i in 0..N {
            // A column that no kernel has takes nothing.
            if squares[i][i] > 0.0 {
                let short: f64 = sums[i] - (0..N).map(|j| squares[i][j] * found[j]).sum::<f64>();
                let better = (found[i] + short / squares[i][i]).max(0.0);
                moved = moved.max((better - found[i]).abs());
                found[i] = better;
            }
        }
        if moved < STILL {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::fit;

    fn rows(units: &[[f64; 3]], ns: [f64; 3]) -> Vec<([f64; 3], f64)> {
        units.iter().map(|row| (*row, row.iter().zip(ns).map(|(of_one, ns)| of_one * ns).sum())).collect()
    }

    #[test]
    fn known_coefficients_are_found() {
        let units = [[100.0, 0.0, 3.0], [1.0, 50.0, 0.0], [20.0, 20.0, 20.0], [7.0, 1.0, 900.0]];
        let found = fit(&rows(&units, [2.5, 0.75, 40.0]));
        for (found, true_ns) in found.into_iter().zip([2.5, 0.75, 40.0]) {
            assert!((found - true_ns).abs() < 1e-3, "{found} for {true_ns}");
        }
    }

    #[test]
    fn nothing_is_below_zero_and_an_empty_column_is_nothing() {
        // Alone, the second column would be -1.
        let found = fit(&[([10.0, 0.0, 0.0], 20.0), ([10.0, 10.0, 0.0], 10.0)]);
        assert!(found[0] > 0.0);
        assert_eq!(found[1..], [0.0, 0.0]);
    }
}
