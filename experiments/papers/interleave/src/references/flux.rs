//! `rodinia-cfd`: the flow into the cells of a mesh through their faces, by Euler's equations, in double
//! precision.

use counterpoint::application::ReferenceInput;

use super::bytes_of_f32s;

const FACES: usize = 4;
/// Density, momentum in three directions, energy.
const VARIABLES: usize = 5;
/// Heat capacities of air at constant pressure and at constant volume: their ratio.
const GAMMA: f64 = 1.4;
/// The viscosity given to the air, so that the solution stays smooth.
const SMOOTHING: f64 = 0.2;

/// The reference as applications name it: parameters `cells`, `faces` and `copies`, input buffers `distances`, `normals` and
/// `variables`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (cells, faces, copies) = (input.size("cells")?, input.size("faces")?, input.size("copies")?);
    let distances = input.u32s_of("distances", copies * FACES * cells)?;
    let normals = input.f32s_of("normals", copies * 3 * FACES * cells)?;
    let variables = input.f32s_of("variables", copies * VARIABLES * cells)?;
    let mut fluxes = vec![0.0; copies * VARIABLES * cells];
    for copy in 0..copies {
        let states = &variables[copy * VARIABLES * cells..];
        let state = |cell: usize| State::new(std::array::from_fn(|of| f64::from(states[of * cells + cell])));
        for cell in 0..cells {
            let here = state(cell);
            let mut flux = [0.0; VARIABLES];
            for face in 0..faces {
                let distance = distances[(copy * FACES + face) * cells + cell].cast_signed();
                let normal = std::array::from_fn(|axis| {
                    f64::from(normals[((copy * FACES + face) * 3 + axis) * cells + cell])
                });
                let neighbour = cell.checked_add_signed(distance as isize).filter(|other| *other < cells);
                let through = here.through(normal, neighbour.map(state).as_ref());
                flux.iter_mut().zip(through).for_each(|(sum, value)| *sum += value);
            }
            for (of, value) in flux.into_iter().enumerate() {
                fluxes[(copy * VARIABLES + of) * cells + cell] = value as f32;
            }
        }
    }
    Ok(bytes_of_f32s(&fluxes))
}

struct State {
    variables: [f64; VARIABLES],
    velocity: [f64; 3],
    pressure: f64,
    sound: f64,
}

impl State {
    fn new(variables: [f64; VARIABLES]) -> Self {
        let [density, x, y, z, energy] = variables;
        let velocity = [x / density, y / density, z / density];
        let pressure = (GAMMA - 1.0) * (energy - 0.5 * density * dot(velocity, velocity));
        State { variables, velocity, pressure, sound: (GAMMA * pressure / density).sqrt() }
    }

    /// The amounts that this cell's state moves in a direction.
    fn moved(&self, direction: [f64; 3]) -> [f64; VARIABLES] {
        let along = dot(self.velocity, direction);
        let mut moved = self.variables.map(|value| value * along);
        for (axis, component) in direction.into_iter().enumerate() {
            moved[1 + axis] += component * self.pressure;
        }
        moved[4] += along * self.pressure;
        moved
    }

    /// The flow through a face, to a neighbour or against a wall.
    fn through(&self, normal: [f64; 3], neighbour: Option<&State>) -> [f64; VARIABLES] {
        let Some(other) = neighbour else {
            let [x, y, z] = normal.map(|component| component * self.pressure);
            return [0.0, x, y, z, 0.0];
        };
        let speed = |state: &State| dot(state.velocity, state.velocity).sqrt() + state.sound;
        let viscosity = 0.5 * SMOOTHING * dot(normal, normal).sqrt() * (speed(self) + speed(other));
        let (here, there) = (self.moved(normal), other.moved(normal));
        std::array::from_fn(|of| {
            0.5 * (here[of] + there[of]) - viscosity * (self.variables[of] - other.variables[of])
        })
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn air_at_rest_presses_and_does_not_flow() {
        let air = State::new([1.0, 0.0, 0.0, 0.0, 2.5]);
        assert!((air.pressure - 1.0).abs() < 1e-12);
        assert_eq!(air.through([1.0, 0.0, 0.0], Some(&air)), air.through([1.0, 0.0, 0.0], None));
    }
}
