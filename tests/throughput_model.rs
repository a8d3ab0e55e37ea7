//! The model of throughput (`gpu/throughput-model`) as a machine: programs compute correct results on it, and
//! its SM parameters are those of the machine with stepped SMs.

use crate::support::{assert_verified, request, root, run_request};

#[test]
fn ordinary_kernels_run_too() {
    for application in ["matmul-tiled", "histogram", "spmv", "convolution-constant"] {
        assert_verified(&run_request(&request("titanx-maxwell-model", application, &["app.size=small"])));
    }
}

#[test]
fn what_the_model_looks_at_of_a_gpu_is_what_its_generation_has() {
    let text = |path: &str| std::fs::read_to_string(root().join("topologies").join(path)).unwrap();
    let machine = text("systems/titanx-maxwell-model.yaml");
    let generation = text("generations/maxwell.yaml") + &text("generations/cards/maxwell.yaml");
    let lines = machine.lines().map(str::trim).skip_while(|line| *line != "model.sm:").skip(1);
    let mut lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    assert!(lines.len() > 15, "{lines:?}");
    // Parameters that map an address to an L2 slice.
    let map = ["controllers: ", "slices: ", "address: "];
    let map = machine.lines().map(str::trim).filter(|line| map.iter().any(|key| line.starts_with(key)));
    lines.extend(map);
    assert!(lines.contains(&"slices: 2"), "{lines:?}");
    // The parameters of cards otherwise, and the steps of the network.
    let cards = machine.lines().map(str::trim).filter_map(|line| line.strip_prefix("model."));
    let cards: Vec<&str> = cards.filter(|line| *line != "sm:").collect();
    assert_eq!(cards.len(), 5, "{cards:?}");
    for line in cards {
        let line = line.replace("costs.speedup", "network.speedup");
        let line = line.split('#').next().unwrap_or_default().trim();
        assert!(generation.lines().any(|known| known.trim() == line), "{line}");
    }
    for line in lines.into_iter().filter(|line| *line != "l1d.global: bypass") {
        assert!(generation.lines().any(|known| known.trim() == line), "{line}");
    }
    assert!(generation.contains("global: bypass"));
}
