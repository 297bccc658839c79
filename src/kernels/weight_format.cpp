#include "kernels/weight_format.h"

#include "base/status.h"

namespace skipstone::kernels {
namespace {

#define FORMAT_WITH(name, unit, quant_bytes, scale_bytes, half, coopmat)                                                             \
  {                                                                                                                                  \
    gguf::Type::name, unit, quant_bytes, scale_bytes, KernelId::embed_##name, KernelId::matvec_##name, KernelId::matvec_rows_##name, \
        KernelId::matvec_rows_texels_##name, KernelId::matmul_##name, KernelId::half, KernelId::coopmat                              \
  }
#define FORMAT(name, unit, quant_bytes, scale_bytes) \
  FORMAT_WITH(name, unit, quant_bytes, scale_bytes, matmul_half_##name, matmul_coopmat_##name)

constexpr WeightFormat formats[] = {
    // Rounded on no tier: a model in 32-bit floats keeps their precision.
    FORMAT_WITH(f32, 32, 128, 0, matmul_f32, matmul_f32),
    FORMAT(f16, 32, 64, 0),
    FORMAT(bf16, 32, 64, 0),
    FORMAT(q8_0, 32, 32, 2),
    FORMAT(q4_0, 32, 16, 2),
    FORMAT(q4_1, 32, 16, 4),
    FORMAT(q5_0, 32, 16, 8),
    FORMAT(q5_1, 32, 16, 8),
    FORMAT(iq4_nl, 32, 16, 2),
    FORMAT(q2_k, 256, 64, 20),
    FORMAT(q3_k, 256, 64, 48),
    FORMAT(q4_k, 256, 128, 16),
    FORMAT(q5_k, 256, 128, 48),
    FORMAT(q6_k, 256, 192, 20),
    FORMAT(sparse_f16, 32, 32, 4),
    FORMAT(sparse_q8_0, 64, 32, 12),
};

#undef FORMAT
#undef FORMAT_WITH

constexpr bool quants_are_whole_words() {
  for (const WeightFormat& format : formats) {
    if (format.quant_bytes % 16 != 0) return false;
  }
  return true;
}
static_assert(quants_are_whole_words());

}  // namespace

std::span<const WeightFormat> weight_formats() { return formats; }

const WeightFormat& weight_format(gguf::Type type) {
  for (const WeightFormat& format : formats) {
    if (format.type == type) return format;
  }
  fail(Code::unsupported, "there are no kernels for weights of type {}; there are for {}", gguf::traits(type).name, gguf::runnable_names());
}

std::uint64_t units_of_row(const WeightFormat& format, std::uint32_t k) { return (std::uint64_t{k} + format.unit - 1) / format.unit; }

}  // namespace skipstone::kernels
