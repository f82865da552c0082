use super::*;
use aqmlab_scenario::parse;

const TEXT: &str = r#"
schema = 1
duration = "5 s"
[[links]]
name = "bottleneck"
rate = "8 Mbit/s"
buffer = "100 packets"
target = "20 packets"
[[flows]]
count = 5
rtt = "40 ms"
packet = "960 B"
tcp = "rfc"
"#;

fn world() -> Arc<Scenario> {
    Arc::new(parse(TEXT, "test", &[]).unwrap())
}

/// A parameter to move, its ends, scale and largest increment.
type Moved<'a> = (&'a str, Option<(f64, f64)>, Option<Scale>, Option<f64>);

fn task(aqm: &str, knobs: &[Moved], observe: &[&str]) -> Task {
    let aqm = AqmChoice::parse(aqm).unwrap();
    let knobs =
        knobs.iter().map(|(name, ends, scale, step)| Knob::new(&aqm, name, *ends, *scale, *step).unwrap()).collect();
    let observe = observe.iter().map(|name| gauge(name).unwrap()).collect();
    Task { link: "bottleneck".into(), aqm, knobs, every: Span::from_millis(100), observe }
}

/// Readings after each of some actions, in one episode.
fn play(task: &Task, actions: &[f32]) -> Vec<Vec<f32>> {
    let mut environment = Environment::new(Arc::new(task.clone()));
    let (mut observation, mut readings) = (vec![0.0; task.observe.len()], vec![0.0; GAUGES.len()]);
    environment.reset(world(), 1, &mut Row { observation: &mut observation, readings: &mut readings }).unwrap();
    let mut found = vec![readings.clone()];
    for action in actions {
        let row = &mut Row { observation: &mut observation, readings: &mut readings };
        assert!(environment.step(&[*action], row).unwrap());
        found.push(readings.clone());
    }
    found
}

fn column(played: &[Vec<f32>], name: &str) -> Vec<f32> {
    let i = gauge(name).unwrap();
    played.iter().map(|row| row[i]).collect()
}

#[test]
fn an_action_is_the_probability() {
    let square = task("fixed-p", &[("p", None, Some(Scale::Square), None)], &[]);
    // u = (a + 1)/2 is 0, 1/2 and 1.
    assert_eq!(column(&play(&square, &[-1.0, 0.0, 1.0]), "p"), [0.0, 0.0, 0.25, 1.0]);
    let log = task("fixed-p", &[("p", Some((1e-4, 1.0)), Some(Scale::Log), None)], &[]);
    let p = column(&play(&log, &[0.0, 1.0]), "p");
    assert!((p[1] - 0.01).abs() < 1e-6 && p[2] == 1.0, "{p:?}");
    let by = task("fixed-p", &[("p", Some((0.0, 0.5)), None, Some(0.5))], &[]);
    assert_eq!(column(&play(&by, &[1.0, -0.5, 1.0, 1.0]), "p"), [0.0, 0.25, 0.125, 0.375, 0.5]);
    let by = task("fixed-p", &[("p", None, Some(Scale::Square), Some(0.5))], &[]);
    // u is 1/2, 1/4, 3/4, 1.
    assert_eq!(column(&play(&by, &[1.0, -0.5, 1.0, 1.0]), "p"), [0.0, 0.25, 0.0625, 0.5625, 1.0]);
}

#[test]
fn what_is_dropped_follows_the_action() {
    let played = play(&task("fixed-p", &[("p", None, None, None)], &[]), &[-1.0, 1.0, 1.0]);
    let (arrived, dropped) = (column(&played, "arrival_rate"), column(&played, "drop_ratio"));
    assert!(arrived[1] > 0.0 && dropped[1] == 0.0, "an empty queue of 100 packets holds the first windows");
    assert!(arrived[2] > 0.0 && dropped[2] == 1.0, "p = 1 from 0.1 s on");
}

#[test]
fn observations_are_readings_between_minus_one_and_one() {
    let task = task("fixed-p", &[("p", None, None, None)], &["queue", "error", "p", "capacity"]);
    let mut environment = Environment::new(Arc::new(task));
    let (mut observation, mut readings) = ([0.0; 4], [0.0; GAUGES.len()]);
    environment.reset(world(), 1, &mut Row { observation: &mut observation, readings: &mut readings }).unwrap();
    // An empty queue, target 20; 8 Mbit/s are 1000 packets/s of 1000 B.
    assert_eq!(observation, [0.0, -0.5, 0.0, 0.5]);
    environment.step(&[-0.5], &mut Row { observation: &mut observation, readings: &mut readings }).unwrap();
    let queue = readings[0];
    assert_eq!(observation[0], queue / (queue + 20.0));
    assert_eq!(observation[2], 0.5, "the root of p = 1/4");
}

#[test]
fn a_scheme_is_tuned_or_says_no() {
    let task =
        task("red", &[("min_th", Some((1.0, 90.0)), None, None), ("max_th", Some((1.0, 90.0)), None, None)], &[]);
    let mut environment = Environment::new(Arc::new(task));
    let mut readings = [0.0; GAUGES.len()];
    environment.reset(world(), 1, &mut Row { observation: &mut [], readings: &mut readings }).unwrap();
    let mut step = |action: [f32; 2]| {
        environment.step(&action, &mut Row { observation: &mut [], readings: &mut readings }).unwrap()
    };
    assert!(step([0.5, 0.9]));
    assert!(step([-0.9, -0.5]), "each contradicts what was; both together do not");
    assert!(step([0.5, 0.9]));
    assert!(!step([0.5, -0.5]), "a lower threshold above the upper");
}

#[test]
fn threads_change_no_number() {
    let task = Arc::new(task("fixed-p", &[("p", Some((0.0, 0.1)), None, None)], &["queue", "sojourn"]));
    let play =
        |threads| {
            let mut environments = vec![Environment::new(task.clone()); 5];
            let (mut observations, mut readings) = (vec![0.0; 10], vec![0.0; 5 * GAUGES.len()]);
            for (i, environment) in environments.iter_mut().enumerate() {
                let mut row = Row { observation: &mut observations[..2], readings: &mut readings[..GAUGES.len()] };
                environment.reset(world(), i as u64, &mut row).unwrap();
            }
            for _ in 0..20 {
                let rows = observations.chunks_mut(2).zip(readings.chunks_mut(GAUGES.len()));
                let mut taken = [false; 5];
                let jobs = environments.iter_mut().zip(rows).zip(&mut taken).map(|((environment, row), is_taken)| {
                    Job { environment, action: &[0.3], row: Row { observation: row.0, readings: row.1 }, is_taken }
                });
                step_all(jobs, threads).unwrap();
            }
            (observations, readings)
        };
    assert_eq!(play(1), play(3));
}

#[test]
fn what_cannot_be_moved_is_refused() {
    let refused = |aqm: &str, name: &str, ends, scale| {
        Knob::new(&AqmChoice::parse(aqm).unwrap(), name, ends, scale, None).unwrap_err().to_string()
    };
    let message = refused("pi", "aa", None, None);
    assert!(message.contains("act.pi.aa") && message.contains("did you mean \"a\""), "{message}");
    assert!(refused("pi", "a", Some((0.5, 0.5)), None).contains("empty"));
    assert!(refused("pi", "a", Some((0.5, f64::NAN)), None).contains("empty"));
    assert!(refused("pi", "a", Some((0.5, 2.0)), None).contains("declared one, 0 to 1"));
    assert!(refused("pi", "a", None, Some(Scale::Log)).contains("factors"));
    assert!(refused("fq-codel", "flows", None, None).contains("cannot change"));
    assert!(refused("dctcp-step", "unmarkable", None, None).contains("is not a number"));
    assert!(gauge("qeue").unwrap_err().contains("did you mean \"queue\""));
}
