//! Titles of schemes.

use aqmlab_aqm::{Standing, entry};
use aqmlab_scenario::{AqmChoice, SchemeAssignment};

/// The titles of schemes with their parameters: `RED (max_p=0.2)`, or `up: CAKE, down: CoDel`. A scheme whose algorithm is not
/// entirely as published has a mark.
pub fn label(schemes: &SchemeAssignment) -> String {
    match schemes {
        SchemeAssignment::Everywhere(choice) => title(choice),
        SchemeAssignment::At(at) => {
            at.iter().map(|(link, choice)| format!("{link}: {}", title(choice))).collect::<Vec<_>>().join(", ")
        }
    }
}

fn title(choice: &AqmChoice) -> String {
    let Ok(entry) = entry(&choice.name) else { return choice.to_string() };
    let mark = match entry.standing {
        Standing::Published => "",
        Standing::Fitted(_) => "†",
        Standing::Reconstructed(_) => "‡",
    };
    let given: Vec<String> = choice.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let given = if given.is_empty() { String::new() } else { format!(" ({})", given.join(",")) };
    format!("{}{mark}{given}", entry.info.title)
}
