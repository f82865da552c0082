//! Prints what our sender sends under scripts: `sequences SCRIPTS LAW...` reads a list of scripts, and writes a row for each with each
//! of the laws.

mod path;

fn main() {
    let mut words = std::env::args().skip(1);
    let file = words.next().expect("a file of scripts");
    let text = std::fs::read_to_string(file).expect("a file that can be read");
    let scripts: Vec<serde_json::Value> = serde_json::from_str(&text).expect("a list of scripts");
    let laws: Vec<String> = words.collect();
    for script in &scripts {
        laws.iter().for_each(|law| println!("{}", path::replay(script, law)));
    }
}
