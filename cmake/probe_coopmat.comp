#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// Compiled at configure time (AddKernel.cmake): what the kernels of the cooperative-matrix tier need of the shader compiler.
layout(constant_id = 0) const uint SIZE = 8;
layout(std430, binding = 0) buffer Y { float y[]; };
shared f16vec4 tile[64];
void main() {
  coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseA> a;
  coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseB> b;
  coopMatLoad(a, tile, 0, 2, gl_CooperativeMatrixLayoutRowMajor);
  coopMatLoad(b, tile, 0, 2, gl_CooperativeMatrixLayoutColumnMajor);
  coopmat<float, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator> sum = coopmat<float, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator>(0.0);
  coopMatStore(coopMatMulAdd(a, b, sum), y, 0, SIZE, gl_CooperativeMatrixLayoutRowMajor);
}
