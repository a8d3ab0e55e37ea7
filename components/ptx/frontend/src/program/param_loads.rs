//! Loads of a kernel from its parameters: they show the types of a struct's fields, which its declaration as bytes does not.

use super::{Action, Kernel, NONE};

/// A field of a parameter, as the kernel loads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParamField {
    /// Offset in the parameter bytes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// The type without its dot, such as `f32`.
    pub element: String,
}

impl Kernel {
    /// The fields that the kernel loads from its parameters at fixed places, by their offset. Loads from places that the kernel computes
    /// are not among them.
    pub fn param_fields(&self) -> Vec<ParamField> {
        let mut fields = Vec::new();
        let loads =
            self.instructions.iter().filter(|it| it.action == Action::LoadParam && it.address == NONE);
        for load in loads {
            let (start, end) = load.text;
            let text = self.source().get(start as usize..end as usize).unwrap_or_default();
            let opcode = text.split_whitespace().find(|word| word.starts_with("ld."));
            let element = opcode.and_then(|opcode| opcode.rsplit('.').next()).unwrap_or("b8");
            let size = u32::from(load.memory.bytes);
            for number in 0..u32::from(load.memory.elements.max(1)) {
                let offset = load.offset as u32 + number * size;
                fields.push(ParamField { offset, size, element: element.to_owned() });
            }
        }
        fields.sort();
        fields.dedup();
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_struct_have_the_types_of_their_loads() {
        let source = ".version 7.8
.target sm_35
.address_size 64
.visible .entry k(.param .align 8 .b8 s[24], .param .u64 p)
{
.reg .b16 %rs<3>;
.reg .b32 %r<4>;
.reg .f32 %f<3>;
.reg .b64 %rd<3>;
.reg .f64 %fd<2>;
.reg .pred %p<2>;
ld.param.u64 %rd1, [p];
ld.param.s8 %rs1, [s];
setp.eq.s16 %p1, %rs1, 0;
@%p1 ld.param.f64 %fd1, [s+8];
ld.param.v2.f32 {%f1, %f2}, [s+16];
ld.param.v2.f32 {%f1, %f2}, [s+16];
ret;
}
";
        let kernel = Kernel::compile(source, None).unwrap_or_else(|errors| panic!("{errors:?}"));
        let fields: Vec<(u32, u32, String)> =
            kernel.param_fields().into_iter().map(|it| (it.offset, it.size, it.element)).collect();
        let field = |offset, size, element: &str| (offset, size, element.to_owned());
        let expected = [
            field(0, 1, "s8"),
            field(8, 8, "f64"),
            field(16, 4, "f32"),
            field(20, 4, "f32"),
            field(24, 8, "u64"),
        ];
        assert_eq!(fields, expected);
    }
}
