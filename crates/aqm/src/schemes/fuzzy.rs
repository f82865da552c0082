//! The fuzzy controller that FuzzyRTT and FLC share: two inputs and one output, all in -1 ..= 1.

/// Boudi & Loudini, Table I: rows are the error, columns its change, both from NB to PB; -4 is NH, 4 is PH.
const RULES: [[i8; 7]; 7] = [
    [-4, -4, -3, -3, -2, -1, 0],
    [-4, -4, -3, -2, -1, 0, 1],
    [-3, -3, -2, -1, 0, 1, 2],
    [-3, -2, -1, 0, 1, 2, 3],
    [-2, -1, 0, 1, 2, 3, 3],
    [-1, 0, 1, 2, 3, 4, 4],
    [0, 1, 2, 3, 3, 4, 4],
];

/// The rules' answer to a scaled error and its scaled change; either is held in -1 ..= 1.
///
/// Terms are evenly spaced triangles, a rule fires with the smaller of its two memberships, and the answer is the
/// centre of gravity of the fired terms' peaks.
pub fn infer(error: f64, change: f64) -> f64 {
    let (errors, changes) = (memberships(error), memberships(change));
    let (mut mass, mut moment) = (0.0, 0.0);
    for (row, of_error) in RULES.iter().zip(errors) {
        for (&term, of_change) in row.iter().zip(changes) {
            let fired = of_error.min(of_change);
            mass += fired;
            moment += fired * f64::from(term) / 4.0;
        }
    }
    moment / mass
}

/// The degrees to which an input, held in -1 ..= 1, belongs to the terms NB to PB.
pub fn memberships(input: f64) -> [f64; 7] {
    let x = 3.0 * input.clamp(-1.0, 1.0);
    [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0].map(|peak: f64| (1.0 - (x - peak).abs()).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_answer_with_their_rule() {
        for (error, change, answer) in [
            (0.0, 0.0, 0.0),
            (1.0, 1.0, 1.0),
            (-1.0, 1.0, 0.0),
            (1.0, 0.0, 0.75),
            (5.0, 0.0, 0.75),
            (0.0, -1.0 / 3.0, -0.25),
        ] {
            assert!((infer(error, change) - answer).abs() < 1e-12, "{error}, {change}: {}", infer(error, change));
        }
    }

    #[test]
    fn between_peaks_by_hand() {
        // Error 1/4 lies 1/4 in Z and 3/4 in PS; change 0 is Z: (1/4*0 + 3/4*1/4) / 1 = 3/16.
        assert!((infer(0.25, 0.0) - 0.1875).abs() < 1e-12);
        // Error 1/4, change 1/6 (half Z, half PS): rules Z,Z 1/4*0; Z,PS 1/4*1/4; PS,Z 1/2*1/4; PS,PS 1/2*2/4.
        // Sum 0.0625 + 0.125 + 0.25 = 0.4375 over a mass of 1.5.
        assert!((infer(0.25, 1.0 / 6.0) - 0.4375 / 1.5).abs() < 1e-12);
    }

    #[test]
    fn the_rules_are_point_symmetric() {
        for (i, row) in RULES.iter().enumerate() {
            assert!(row.iter().enumerate().all(|(j, &term)| term == -RULES[6 - i][6 - j]), "row {i}");
        }
    }
}
