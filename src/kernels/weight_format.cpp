#include "kernels/weight_format.h"

#include "base/status.h"

namespace skipstone::kernels {
namespace {

#define WEIGHT_FORMAT(id, number, name, block, bytes, quants, scales, largest) \
  WeightFormat{gguf::Type::id,                                                 \
               (block) < 32 ? 32 : (block),                                    \
               quants,                                                         \
               scales,                                                         \
               KernelId::embed_##id,                                           \
               KernelId::matvec_##id,                                          \
               KernelId::matvec_rows_##id,                                     \
               KernelId::matvec_rows_texels_##id,                              \
               KernelId::matmul_##id,                                          \
               KernelId::matmul_half_##id,                                     \
               KernelId::matmul_coopmat_##id,                                  \
               KernelId::matvec_experts_##id,                                  \
               KernelId::matvec_rows_experts_##id,                             \
               KernelId::matvec_rows_texels_experts_##id,                      \
               KernelId::matvec_heads_##id,                                    \
               KernelId::matvec_rows_heads_##id,                               \
               KernelId::matvec_rows_texels_heads_##id},
constexpr WeightFormat formats[] = {
#include "gguf/weight_formats.def"
};

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

KernelId matvec_kernel(gguf::Type format, const vk::Tuning& tuning) {
  const WeightFormat& kernels = weight_format(format);
  if (tuning.matvec_k_lanes != 1) return kernels.matvec;
  return tuning.texels ? kernels.matvec_rows_texels : kernels.matvec_rows;
}

KernelId matvec_experts_kernel(gguf::Type format, const vk::Tuning& tuning) {
  const WeightFormat& kernels = weight_format(format);
  if (tuning.matvec_k_lanes != 1) return kernels.matvec_experts;
  return tuning.texels ? kernels.matvec_rows_texels_experts : kernels.matvec_rows_experts;
}

KernelId matvec_heads_kernel(gguf::Type format, const vk::Tuning& tuning) {
  const WeightFormat& kernels = weight_format(format);
  if (tuning.matvec_k_lanes != 1) return kernels.matvec_heads;
  return tuning.texels ? kernels.matvec_rows_texels_heads : kernels.matvec_rows_heads;
}

KernelId matmul_kernel(gguf::Type format, vk::Tier tier) {
  const WeightFormat& kernels = weight_format(format);
  if (tier == vk::Tier::base) return kernels.matmul;
  return tier == vk::Tier::fp16 ? kernels.matmul_half : kernels.matmul_coopmat;
}

std::uint64_t units_of_row(const WeightFormat& format, std::uint32_t k) { return (std::uint64_t{k} + format.unit - 1) / format.unit; }

}  // namespace skipstone::kernels
