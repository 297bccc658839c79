// Shared by the cases of the skinny and the tiled matrix kernels: the same operands, the same answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf/traits.h"
#include "kernels/operations.h"
#include "kernels/selector.h"
#include "selftest/bench.h"

namespace skipstone::selftest {

/// How lanes and buffers are laid out is a device's choice (vk::Tuning). Lanes that share a row's K are possible everywhere; the mapping of
/// CPU devices needs what tuning_for() checks, so only devices that have it as their own run it, with texel buffers and without.
enum class Layout { own, storage_buffers, shared_k, mixed };
const char* to_string(Layout layout);
kernels::Selector selector_for(const Bench& bench, Layout layout);
/// The layouts that are not the device's own.
std::vector<Layout> other_layouts(const vk::Tuning& tuning);

struct MatrixShape {
  gguf::Type format = gguf::Type::f32;
  std::uint32_t n = 0, k = 0, rows = 1;
  bool bias = false, residual = false;
  bool norm = false;                                           ///< skinny kernels only
  kernels::Activation activation = kernels::Activation::none;  ///< likewise; gated: n rows of gate above n of up
  std::uint32_t parts = 1;
  float scale = 1.0f, softcap = 0.0f;  ///< as of kernels::MatvecFusion
  bool factors = false;                ///< of the rows of W
  std::string text() const;            ///< "q8_0 N=96 K=256 rows=5 bias residual parts=3"
};

/// y = activation(scale * (factors * W x + bias)) + residual, fusions included, against the oracle; `select` chooses the variant, `tiled`
/// the tiled kernel. Every real row of the bucket is compared, and that nothing but the rows of y was written.
std::string check_matrix(Bench& bench, const MatrixShape& shape, const kernels::Selector& select, bool tiled);

/// Room for the rows that the tiled kernels of higher tiers make from `rows` rows of k floats.
void reserve_half_rows(Bench& bench, std::uint32_t k, std::uint32_t rows);

/// The numerics contract of decoding on matrix units: a column's sums do not depend on the contents of the columns beside it. Takes
/// one row of x at every place of passes of 1 to `most` rows; the rows beside it, and the leftovers of older passes past them, are zeros,
/// numbers, huge numbers, infinities or NaNs. "" where its products have the bits that they have alone, and are near the scalar
/// reference's; else what differs. The device and the build have to have matrices (kernels::Selector::has_matrices).
std::string check_matrix_columns(Bench& bench, gguf::Type format, std::uint32_t most);

}  // namespace skipstone::selftest
