//! The language of machine files as text: `explain machine` and the like.

use std::fmt::Write;

use crate::model::families::Described;
use crate::model::{Families, FaultParams, Params};

use super::explain::{fields, paragraph};
use super::expression::FUNCTIONS;
use super::keys::{COMPONENT, KeyDoc, LINK, MACHINE, MODULE, OVERLAY, PARAMETER, PATCH, USE};

/// The topics of [`explain_language`].
pub const TOPICS: [&str; 7] = ["machine", "module", "overlay", "link", "clock", "expressions", "faults"];

/// The page of a topic, if there is one of this name.
pub fn explain_language(topic: &str) -> Option<String> {
    let mut page = Page(String::new());
    match topic {
        "machine" => page.machine(),
        "module" => page.module(),
        "overlay" => page.overlay(),
        "link" => page.link(),
        "clock" => page.clock(),
        "expressions" => page.expressions(),
        "faults" => page.faults(),
        _ => return None,
    }
    Some(page.0)
}

struct Page(String);

impl Page {
    fn title(&mut self, title: &str) {
        self.0.push_str(title);
        self.0.push('\n');
    }

    fn text(&mut self, text: &str) {
        paragraph(&mut self.0, 1, text);
    }

    fn keys(&mut self, title: &str, keys: &[KeyDoc]) {
        self.title(&format!("\n{title}"));
        for KeyDoc { name, holds, doc } in keys {
            // Writing to a String cannot fail.
            let _ = writeln!(self.0, "  {name}: {holds}");
            paragraph(&mut self.0, 3, doc);
        }
    }

    fn example(&mut self, lines: &str) {
        self.title("\nExample");
        for line in lines.lines() {
            let _ = writeln!(self.0, "  {line}");
        }
    }

    fn machine(&mut self) {
        self.title("machine");
        self.text(
            "A YAML file with components and the links between them. Parts that several machines share are modules, in files that \
             it includes. Parameters of its own are for `--set`, and for arithmetic in the file.",
        );
        self.text(
            "The last setting wins: defaults, a component's own entry, `set` of its module, overlays of the part (`with`), `set` where \
             the module is a part, overlays that the machine includes, `set` of the machine, overlays of `--with`, `--set`.",
        );
        self.keys("Keys", &MACHINE);
        self.parts();
        self.example(
            "counterpoint: 1\n\
             machine: two-sms\n\
             include: [../modules/gpu.yaml, ../modules/host.yaml]\n\
             components:\n\
             \x20 host: { module: host }\n\
             \x20 pcie: { type: io/pcie-link }\n\
             \x20 gpu: { module: gpu, set: { sms: 2, controllers: 1, memory: 16 MiB } }\n\
             links:\n\
             \x20 - \"host.bus[0] -> pcie.upstream\"\n\
             \x20 - pcie.downstream -> gpu.bus",
        );
    }

    fn module(&mut self) {
        self.title("module");
        self.text(
            "A part of machines with a name of its own: components, links between them, and the ports that it exports. A machine or \
             another module includes its file and has it as a part, once or as an array.",
        );
        self.keys("Keys", &MODULE);
        self.keys("A parameter", &PARAMETER);
        self.parts();
        self.example(
            "counterpoint: 1\n\
             module: channel\n\
             parameters: { size: { type: size, default: 16 MiB, doc: Capacity of the DRAM. } }\n\
             clocks: { dram: 924 MHz }\n\
             components:\n\
             \x20 dram: { type: memory/dram-controller, clock: dram, capacity: \"${size}\" }\n\
             exports: { clients: dram.clients }",
        );
    }

    fn parts(&mut self) {
        self.keys("A component", &COMPONENT);
        self.keys("A module as a part", &USE);
    }

    fn overlay(&mut self) {
        self.title("overlay");
        self.text(
            "Changes to a machine that leave its file as it is: settings, faults, and components and links that are added or \
             replaced, in the machine itself or in its modules. A machine builds on the overlays that it includes; `--with` \
             applies others, in their order. Two overlays must not replace, add or remove the same thing. One that sets what another one \
             before it has set to another value, and does not include that one, is noted.",
        );
        self.text(
            "A part of a machine has overlays of its own by `with`: `new: { module: gpu, with: [kepler] }`. In their paths the module's \
             name stands for the part; they have settings and changes of modules and instances, which reach into the part alone.",
        );
        self.keys("Keys", &OVERLAY);
        self.keys("Keys that add and replace", &PATCH);
    }

    fn link(&mut self) {
        self.title("link");
        self.text(
            "Joins a port that sends to a port that receives, or two sockets, which both send and receive. It is written as \
             `part.port -> part.port`, or as a map. Every link takes at least a cycle of the sender's clock.",
        );
        self.text(
            "Parts and ports may be arrays. `[2]` is one element; `[*]` and a free name, such as `[i]`, range over all of them, and one \
             name has one value in both ends. Arrays that one index ranges over have the same length. Other \
             indices may be arithmetic, such as `[i + 1]` or `[i / slices]`; combinations outside an array are left out, so that \
             `tile[i].east -> tile[i + 1].west` makes a chain. An array of ports is as long as it is linked.",
        );
        self.keys("Keys", &LINK);
        self.example(
            "links:\n\
             \x20 - front.launches -> scheduler.launches\n\
             \x20 - { from: \"scheduler.sms[*]\", to: \"sm[*].work\", latency: 8 cycles }\n\
             \x20 - { from: \"l2[i].memory\", to: \"dram[i / 2].clients[i % 2]\", latency: 1 cycle, back: 1 cycle, capacity: 16 }",
        );
    }

    fn clock(&mut self) {
        self.title("clock");
        self.text(
            "A frequency with a name, under `clocks:` of a machine or a module, from 1 Hz to 1000 GHz. A component has the clock that its \
             `clock` names, or 1 GHz. Edges lie at whole picoseconds, rounded down; ratios of frequencies are kept exactly.",
        );
        self.text(
            "Where a module is a part, `set: { clocks: { core: 1.2 GHz } }` changes a clock of it, and `set: { clocks: { core: bus } }` makes it \
             the clock `bus` of the module around it. From outside a clock is `--set gpu.clocks.core=1.2 GHz`.",
        );
        self.example(
            "clocks: { core: 700 MHz, dram: 924 MHz }\n\
             components:\n\
             \x20 scheduler: { type: gpu/cta-scheduler, clock: core }",
        );
    }

    fn expressions(&mut self) {
        self.title("expressions");
        self.text(
            "`${…}` in a value is arithmetic over the parameters of its module, or of its application, computed once when the file is read. \
             A value that is `${name}` alone is the parameter as it was written, with its unit; in all other arithmetic a \
             size is its number of bytes. The result is a plain number, and may stand beside a unit: `\"${memory / 2} B\"`. YAML wants \
             quotation marks around it.",
        );
        self.text(
            "Numbers are exact fractions, `+`, `-`, `*`, `/` and `%` have the usual precedence, and parentheses group. The quotient of two whole \
             numbers is rounded down, except inside `ceil`.",
        );
        self.keys("Functions", &FUNCTIONS);
        self.example("dram: { type: memory/dram-controller, count: \"${controllers}\", capacity: \"${ceil(memory / 1024 / controllers)} KiB\" }");
    }

    fn faults(&mut self) {
        self.title("faults");
        self.text(
            "Faults of links, as a list of maps under `faults:` in a machine or an overlay, such as \
             `- { to: \"gpu.sm[0].memory\", fault: drop, nth: 5 }`. A link is named by the port that its messages leave from \
             or arrive at. Several faults of one link happen in the order of the list. Without `nth`, `every` or \
             `probability` a fault happens to every message.",
        );
        self.text(
            "The link's messages pass a component of their own, `PORT!fault`, whose statistics count the faults. Messages that \
             meet no fault take as long as before, except on a link of a single cycle of the sender, which takes one more.",
        );
        self.title("\nKeys");
        fields(&mut self.0, 1, &FaultParams::fields(), &Described::new(&Families::default()));
    }
}
