// The table of weight formats that have kernels: how each lies on the device, and its kernels. The rows are in gguf/weight_formats.def.
#pragma once

#include <cstdint>
#include <span>

#include "gguf/block_code.h"
#include "gguf/traits.h"
#include "kernels/kernel_ids.h"
#include "vk/caps.h"
#include "vk/tuning.h"

namespace skipstone::kernels {

/// Weights are stored in units. Plane 0 holds the codes of all units, plane 1 the format's other data: its table, if it has one, then
/// scales, minima, further bits. The bytes of a unit are defined in shaders/lib/quant/ and written by the format's BlockCode
/// (gguf/block_code.h).
struct WeightFormat {
  gguf::Type type;
  std::uint32_t unit;         ///< weights: a block of the file, at least 32
  std::uint32_t quant_bytes;  ///< of a unit in plane 0: whole 16-byte words
  std::uint32_t scale_bytes;  ///< of a unit in plane 1; 0: there is no such plane
  KernelId embed, matvec, matvec_rows, matvec_rows_texels, matmul, matmul_half, matmul_coopmat;
  // Over stacks of matrices: of experts, and of heads of attention.
  KernelId matvec_experts, matvec_rows_experts, matvec_rows_texels_experts;
  KernelId matvec_heads, matvec_rows_heads, matvec_rows_texels_heads;
};

std::span<const WeightFormat> weight_formats();

/// Throws unsupported for types without kernels.
const WeightFormat& weight_format(gguf::Type type);

/// The skinny and the tiled matrix kernel of a format for a device's tuning and a tier.
KernelId matvec_kernel(gguf::Type format, const vk::Tuning& tuning);
KernelId matvec_experts_kernel(gguf::Type format, const vk::Tuning& tuning);
KernelId matvec_heads_kernel(gguf::Type format, const vk::Tuning& tuning);
KernelId matmul_kernel(gguf::Type format, vk::Tier tier);

/// Bytes of the table at the beginning of plane 1 (gguf::BlockCode::table); mostly 0.
inline std::uint32_t table_bytes(gguf::Type format) { return static_cast<std::uint32_t>(gguf::block_code(format).table.size_bytes()); }

/// Units of a row of `k` weights, which is padded to whole ones.
std::uint64_t units_of_row(const WeightFormat& format, std::uint32_t k);

/// Bytes of a plane that holds `units` units of `unit_bytes`: whole 16-byte words, as texels are.
constexpr std::uint64_t plane_bytes(std::uint64_t units, std::uint32_t unit_bytes) { return (units * unit_bytes + 15) / 16 * 16; }

}  // namespace skipstone::kernels
