//! Variants with ports, parameters and statistics of their own, which join their component's.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use counterpoint_framework::kernel::{Fault, In, Out, Outcome, RunOptions};
use counterpoint_framework::model::{
    Choose, Component, Context, Counter, Equipped, Every, Invalid, Params, Ports, Registry, Site, Slot,
    StatValue, Stats, Variant,
};
use counterpoint_framework::testing::{run_text, toys};
use counterpoint_framework::topology;

/// Decides the use of a number in a picker.
trait Taste {
    fn likes(&mut self, number: u64) -> bool;
}

struct Even;

impl Taste for Even {
    fn likes(&mut self, number: u64) -> bool {
        number.is_multiple_of(2)
    }
}

impl Variant<dyn Taste> for Even {
    const NAME: &'static str = "even";
    const DOC: &'static str = "Even numbers.";
    type Params = ();

    fn build(_params: &()) -> Result<Box<dyn Taste>, String> {
        Ok(Box::new(Even))
    }
}

#[derive(Params)]
struct TellingParams {
    /// Whose taste it is in truth.
    #[param(default = "even")]
    of: Slot<dyn Taste>,
    /// Numbers sent at most.
    #[param(default = 100)]
    most: u64,
}

#[derive(Ports)]
struct TellingPorts {
    /// The numbers that are liked.
    told: Out<u64>,
}

#[derive(Default, Stats)]
struct TellingStats {
    /// Numbers sent.
    told: Counter,
}

/// Sends the numbers that another variant likes.
struct Telling {
    of: Box<dyn Taste>,
    most: u64,
    ports: TellingPorts,
    stats: Rc<TellingStats>,
}

impl Taste for Telling {
    fn likes(&mut self, number: u64) -> bool {
        let likes = self.of.likes(number);
        if likes
            && self.stats.told.get() < self.most
            && let Some(permit) = self.ports.told.try_reserve()
        {
            permit.send(number);
            self.stats.told.add(1);
        }
        likes
    }
}

impl Equipped<dyn Taste> for Telling {
    const NAME: &'static str = "telling";
    const DOC: &'static str = "Another taste, and somebody is told.";
    type Params = TellingParams;
    type Ports = TellingPorts;
    type Stats = TellingStats;

    fn check(params: &TellingParams) -> Result<(), String> {
        if params.most == 0 { Err("it must be told of one number".into()) } else { Ok(()) }
    }

    fn build(
        params: &TellingParams,
        site: Site<'_, TellingPorts, TellingStats>,
    ) -> Result<Box<dyn Taste>, Fault> {
        let of = site.fill(&params.of)?;
        Ok(Box::new(Telling { of, most: params.most, ports: site.ports, stats: site.stats }))
    }
}

#[derive(Clone, Params)]
struct PickerParams {
    /// Its pick.
    #[param(default = "even")]
    taste: Slot<dyn Taste>,
    /// Number of copies that it builds.
    #[param(default = 1)]
    copies: u32,
}

#[derive(Ports)]
struct PickerPorts {
    /// The numbers.
    input: In<u64>,
}

#[derive(Default, Stats)]
struct PickerStats {
    /// Numbers that it has picked.
    picked: Counter,
}

struct Picker(PickerParams);

impl Component for Picker {
    const KIND: &'static str = "toy/picker";
    const DOC: &'static str = "Picks numbers.";
    const DAEMON: bool = true;
    type Params = PickerParams;
    type Ports = PickerPorts;
    type Stats = PickerStats;

    fn new(params: PickerParams) -> Result<Self, Invalid> {
        Ok(Picker(params))
    }

    async fn run(&mut self, io: &mut PickerPorts, sim: &Context<PickerStats>) -> Result<(), Fault> {
        let mut taste = self.0.taste.build(sim)?;
        for _ in 1..self.0.copies {
            self.0.taste.build(sim)?;
        }
        loop {
            let number = io.input.recv().await;
            sim.stats.picked.add(u64::from(taste.likes(number)));
        }
    }
}

/// Has no place for a variant's equipment.
#[derive(Clone, Params)]
struct PlainParams {
    /// Its taste.
    #[param(default = "even")]
    taste: Choose<dyn Taste>,
}

#[derive(Ports)]
struct NoPorts {}

struct Plain;

impl Component for Plain {
    const KIND: &'static str = "toy/plain";
    const DOC: &'static str = "Takes variants without ports.";
    type Params = PlainParams;
    type Ports = NoPorts;
    type Stats = ();

    fn new(params: PlainParams) -> Result<Self, Invalid> {
        params.taste.build();
        Ok(Plain)
    }

    async fn run(&mut self, _io: &mut NoPorts, _sim: &Context<()>) -> Result<(), Fault> {
        Ok(())
    }
}

/// Has all tastes at once.
#[derive(Clone, Params)]
struct CrowdParams {
    /// Their tastes.
    tastes: Every<dyn Taste>,
}

#[derive(Default, Stats)]
struct CrowdStats {
    /// Numbers that one of them likes.
    liked: Counter,
}

struct Crowd(CrowdParams);

impl Component for Crowd {
    const KIND: &'static str = "toy/crowd";
    const DOC: &'static str = "Asks every taste about a number.";
    const DAEMON: bool = true;
    type Params = CrowdParams;
    type Ports = PickerPorts;
    type Stats = CrowdStats;

    fn new(params: CrowdParams) -> Result<Self, Invalid> {
        Ok(Crowd(params))
    }

    async fn run(&mut self, io: &mut PickerPorts, sim: &Context<CrowdStats>) -> Result<(), Fault> {
        let mut tastes = self.0.tastes.build(sim)?;
        loop {
            let number = io.input.recv().await;
            for (_, taste) in &mut tastes {
                sim.stats.liked.add(u64::from(taste.likes(number)));
            }
        }
    }
}

fn register(registry: &mut Registry) {
    toys::register(registry);
    registry.component::<Picker>().component::<Plain>().component::<Crowd>();
    registry.variant::<dyn Taste, Even>().equipped::<dyn Taste, Telling>();
}

fn machine(picker: &str, links: &str) -> String {
    format!(
        "counterpoint: 1
machine: picking
components:
  from: {{ type: toy/producer, number: 10 }}
  picker: {{ type: toy/picker, {picker} }}
  to: {{ type: toy/consumer, number: 3, check: off }}
links:
  - from.out -> picker.input
{links}"
    )
}

/// The report on a machine that is wrong.
fn refused(text: &str) -> String {
    let mut registry = Registry::default();
    register(&mut registry);
    let files = BTreeMap::from([("m.yaml".to_owned(), text.to_owned())]);
    let loaded = topology::load("m.yaml", &[], &[], &Arc::new(registry).catalogue, &files);
    loaded.map(|_| ()).unwrap_err().render()
}

const TOLD: &str = "  - picker.told -> to.input\n";

#[test]
fn ports_and_statistics_of_a_variant_join_those_of_its_component() {
    for taste in ["telling", "{ telling: { most: 3 } }", "{ telling: { of: { telling: { } } } }"] {
        let text = machine(&format!("taste: {taste}"), TOLD);
        if taste.contains("of:") {
            let report = refused(&text);
            assert!(report.contains("two ports of this toy/picker are named `told`"), "{report}");
            continue;
        }
        let report = run_text(&text, register, &RunOptions { hash: true, ..RunOptions::default() });
        assert!(matches!(report.outcome, Outcome::Finished(_)), "{}", report.outcome);
        let rows = report.stats.iter().filter(|row| row.path == "picker");
        let rows: Vec<_> = rows.map(|row| (row.label.name, row.value)).collect();
        let told = if taste == "telling" { 5 } else { 3 };
        let count = |count| StatValue::Count(count);
        assert_eq!(rows, [("picked", count(5)), ("told", count(told))], "{taste}");
    }
}

#[test]
fn only_the_chosen_variant_has_its_ports() {
    let report = refused(&machine("taste: even", TOLD));
    assert!(report.contains("`picker` (toy/picker) has no port `told`"), "{report}");
    assert!(report.contains("help: `told` comes with `telling` of `taste`, which is `even`"), "{report}");
    assert!(report.contains("set here"), "{report}");
    let report = refused(&machine("taste: telling", ""));
    assert!(report.contains("`picker.told` is not connected"), "{report}");
    let report = refused(&machine("taste: { telling: { most: 0 } }", TOLD));
    assert!(report.contains("`telling`: it must be told of one number"), "{report}");
}

#[test]
fn a_parameter_without_a_place_for_ports_refuses_them() {
    let text = "counterpoint: 1\nmachine: m\ncomponents:\n  a: { type: toy/plain, taste: telling }\n";
    let report = refused(text);
    let message =
        "m.yaml:4:32: error: `telling` has ports or statistics of its own, for which there is no place here";
    assert!(report.contains(message), "{report}");
}

#[test]
fn a_variant_with_ports_is_there_once_in_a_component() {
    let text = machine("taste: telling, copies: 2", TOLD);
    let report = run_text(&text, register, &RunOptions::default());
    let ending = report.outcome.to_string();
    assert!(
        ending.contains("`telling` has ports, and cannot be there several times in one component"),
        "{ending}"
    );
}

#[test]
fn a_family_within_itself_is_described_once() {
    let mut registry = Registry::default();
    register(&mut registry);
    let kind = registry.catalogue.get("toy/picker").unwrap();
    let explained = topology::explain(kind, registry.families());
    assert_eq!(explained.matches("- one of those around it").count(), 1, "{explained}");
    assert_eq!(explained.matches("ports that it brings along").count(), 1, "{explained}");
    let schema = topology::schema(&registry.catalogue).to_string();
    assert!(schema.contains("Another taste, and somebody is told."));
}

#[test]
fn a_component_can_have_every_variant_of_a_family() {
    let of = |params: &str| machine(params, TOLD).replace("toy/picker", "toy/crowd");
    for (params, told) in [("tastes: {}", 5), ("tastes: { telling: { most: 3 }, even: {} }", 3)] {
        let report = run_text(&of(params), register, &RunOptions::default());
        assert!(matches!(report.outcome, Outcome::Finished(_)), "{}", report.outcome);
        let rows = report.stats.iter().filter(|row| row.path == "picker");
        let rows: Vec<_> = rows.map(|row| (row.label.name, row.value)).collect();
        let count = |count| StatValue::Count(count);
        assert_eq!(rows, [("liked", count(10)), ("told", count(told))], "{params}");
    }
    let report = refused(&of("tastes: { telling: { most: 0 }, odd: {} }"));
    for message in ["`telling`: it must be told of one number", "unknown key `odd`"] {
        assert!(report.contains(message), "{report}");
    }
    let report = refused(&of("").replace(TOLD, ""));
    assert!(report.contains("`picker.told` is not connected"), "{report}");
}

#[test]
fn parameters_of_every_variant_are_set_described_and_shown_by_its_name() {
    let mut registry = Registry::default();
    register(&mut registry);
    let text = machine("tastes: {}", TOLD).replace("toy/picker", "toy/crowd");
    let files = BTreeMap::from([("m.yaml".to_owned(), text)]);
    let sets = ["picker.tastes.telling.most=3".to_owned()];
    let loaded = topology::load("m.yaml", &[], &sets, &registry.catalogue, &files);
    let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.render()));
    let picker = loaded.machine.instances.iter().find(|instance| instance.path == "picker").unwrap();
    let of_telling = picker.params.get("tastes").and_then(|tastes| tastes.get("telling")).unwrap();
    assert_eq!(of_telling.get("most").unwrap().as_scalar(), Some("3"));
    assert_eq!(of_telling.get("of").unwrap().as_scalar(), Some("even"), "the others have their defaults");
    let explained = topology::explain(registry.catalogue.get("toy/crowd").unwrap(), registry.families());
    assert!(
        explained.contains("tastes: every Taste, its parameters under its name, default {}"),
        "{explained}"
    );
    assert!(explained.contains("- telling") && explained.contains("most: "), "{explained}");
    let schema = topology::schema(&registry.catalogue);
    assert!(schema.to_string().contains(r#""tastes":"#), "{schema}");
}
