//! A sheet: its tasks, and the parameters of each student.

use crate::known::Known;
use aqmlab_core::{Problem, Problems, problem};
use aqmlab_scenario::{parse, read_toml};
use aqmlab_sim::{Options, Simulation};
use regex_lite::Regex;
use schemars::{JsonSchema, Schema, schema_for};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};

/// Lengths of a sheet, minutes; a longer one has the tasks of the shorter ones too.
pub const MINUTES: [u32; 3] = [15, 45, 90];

/// The exercises of a lesson, as a file of TOML describes them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(title = "Exercises of aqmlab", extend("$id" = "urn:aqmlab:exercise:1", "unevaluatedProperties" = false))]
pub struct ExerciseSheet {
    /// The lesson, which is the sheet's name too.
    pub lesson: String,
    /// The title for people.
    #[serde(default)]
    pub title: String,
    /// Values that differ from student to student.
    pub individual: Vec<Individual>,
    /// All tasks.
    pub tasks: Vec<ExerciseTask>,
}

/// A value of the scenario that differs from student to student.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub struct Individual {
    /// Its path.
    pub path: String,
    /// The values that it may have.
    pub values: Vec<String>,
}

/// A task of a sheet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub struct ExerciseTask {
    /// Its name.
    pub id: String,
    /// The question; parameters of the student stand in braces.
    pub text: String,
    /// The shortest sheet that has it.
    #[schemars(extend("enum" = MINUTES))]
    pub minutes: u32,
    /// The words to a student whose number is wrong.
    #[serde(default)]
    pub hint: String,
    /// The kind of answer that it asks for.
    #[serde(flatten)]
    pub kind: TaskKind,
}

/// The kind of answer that a task asks for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TaskKind {
    /// A guess before the run of what another task will measure: any number is taken.
    Predict {
        /// The other task.
        of: String,
    },
    /// A measurement in the student's own run.
    Do {
        /// The scheme.
        aqm: String,
        /// Values other than in the student's scenario: path and value of each.
        #[serde(default)]
        set: Vec<(String, String)>,
        /// Changes on the way.
        #[serde(default)]
        steps: Vec<TaskStep>,
        /// From when to when it is measured, s.
        between: (f64, f64),
        /// The curve: `links.LINK.COLUMN` or `flows.GROUP.COLUMN`.
        curve: String,
        /// The measure of the curve.
        #[serde(default)]
        measure: CurveMeasure,
        /// The unit in which it is asked for.
        unit: String,
        /// The error that an answer may have, as a share.
        #[serde(default = "tenth")]
        within: f64,
    },
    /// The ratio of two measurements.
    Compare {
        /// Both tasks: the first is divided by the second.
        over: (String, String),
        /// The error that an answer may have, as a share.
        #[serde(default = "rough")]
        within: f64,
    },
    /// Words, with every one of the ideas and none of the wrong ones.
    Explain {
        /// Ideas that have to be said.
        ideas: Vec<Idea>,
        /// Ideas that must not be said.
        #[serde(default)]
        wrong: Vec<Idea>,
        /// An answer that is taken.
        solution: String,
    },
}

/// A change in a run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub struct TaskStep {
    /// The time, s.
    pub at: f64,
    /// The path of what is changed.
    pub path: String,
    /// Its new value; parameters of the student may stand in braces.
    pub value: String,
}

/// A measure of a curve.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CurveMeasure {
    /// The mean.
    #[default]
    Mean,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The standard deviation.
    Sd,
    /// The share of the samples that are 0.
    Zero,
}

/// Something that is said in any of several wordings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub struct Idea {
    /// The wordings.
    #[serde(deserialize_with = "wordings")]
    #[schemars(with = "Vec<String>")]
    pub any: Vec<Regex>,
    /// The words to a student who has not said it, or who has where it is wrong.
    pub hint: String,
}

impl Idea {
    /// True if a text, in lower case, has one of the wordings.
    pub fn is_in(&self, text: &str) -> bool {
        self.any.iter().any(|wording| wording.is_match(text))
    }
}

fn tenth() -> f64 {
    0.1
}

fn rough() -> f64 {
    0.15
}

fn wordings<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Regex>, D::Error> {
    let texts = Vec::<String>::deserialize(source)?;
    texts.iter().map(|text| Regex::new(text).map_err(|why| D::Error::custom(format!("{text}: {why}")))).collect()
}

impl ExerciseSheet {
    /// The JSON Schema of sheets.
    pub fn schema() -> Schema {
        schema_for!(Self)
    }

    /// Reads a sheet from TOML.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(text: &str) -> Result<Self, Problems> {
        read_toml(text, "sheet")?.try_into().map_err(|why: toml::de::Error| Problems::one("sheet", why.message()))
    }

    /// The tasks of a sheet of so many minutes.
    ///
    /// # Errors
    /// If there is no sheet of so many minutes.
    pub fn of(&self, minutes: u32) -> Result<Vec<&ExerciseTask>, Problems> {
        if !MINUTES.contains(&minutes) {
            let [short, middle, long] = MINUTES;
            return Err(Problems::one("minutes", format!("{minutes}: expected {short}, {middle} or {long}")));
        }
        Ok(self.tasks.iter().filter(|task| task.minutes <= minutes).collect())
    }

    /// A task by its name.
    ///
    /// # Errors
    /// If there is none.
    pub fn task(&self, id: &str) -> Result<&ExerciseTask, Problems> {
        let known: Vec<&str> = self.tasks.iter().map(|task| &*task.id).collect();
        let found = self.tasks.iter().find(|task| task.id == id);
        found.ok_or_else(|| Problem::new("of", problem::unknown("task", id, &known)).into())
    }

    /// The sheet of one student in the lesson's scenario; who has the same number, has the same parameters.
    ///
    /// # Errors
    /// If the number is empty, or a parameter does not fit the scenario.
    pub fn assignment<'a>(
        &'a self,
        student: &str,
        scenario: &str,
        known: &'a Known,
    ) -> Result<Assignment<'a>, Problems> {
        let student = student.trim();
        if student.is_empty() {
            let why = "is empty; each student has a number, which determines the parameters";
            return Err(Problems::one("student", why));
        }
        let own = self.individual.iter().map(|each| (each.path.clone(), self.chosen(each, student)));
        let values: Vec<_> = own.collect();
        let simulation = Simulation::new(parse(scenario, &self.lesson, &values)?, Options::default())?;
        Ok(Assignment { sheet: self, student: student.into(), scenario: simulation.to_toml(), values, known })
    }

    fn chosen(&self, of: &Individual, student: &str) -> String {
        let digest = Sha256::digest(format!("{} {} {}", self.lesson, of.path, student.to_lowercase()));
        let number = digest.iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        of.values[(number % of.values.len() as u64) as usize].clone()
    }
}

/// A sheet with the parameters of one student.
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    /// The sheet.
    pub sheet: &'a ExerciseSheet,
    /// The student's number.
    pub student: String,
    /// The student's own scenario, TOML.
    pub scenario: String,
    /// The parameters: path and value of each.
    pub values: Vec<(String, String)>,
    /// Measurements made before.
    pub known: &'a Known,
}

impl Assignment<'_> {
    /// A text with the student's parameters where it names them in braces.
    pub fn filled(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, (path, value)| text.replace(&format!("{{{path}}}"), value))
    }
}
