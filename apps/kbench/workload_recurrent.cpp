// Operations of recurrent layers and of heads for multi-token prediction, which have records.
#include <fmt/format.h>

#include "kbench/workload_parts.h"

namespace kbench {

using namespace skipstone;
using kernels::ResourceKind;

namespace {

kernels::Records records_of(const Request& r, std::uint32_t layer) {
  return {
      .layer = layer, .width = r.sizes.width, .tables = exec::first_table_entry(exec::MemoryKind::recurrent, sequence_of(r.sizes).context)};
}

}  // namespace

Workload short_conv(const Selector& select, const Request& r) {
  const double values = static_cast<double>(r.rows) * r.sizes.width, earlier = (short_conv_kernel - 1.0) * r.sizes.width;
  const kernels::Records records = records_of(r, short_conv_layer);
  return one(fmt::to_string(r.sizes.width), kernels::short_conv(select, {records, short_conv_kernel, vector_tensor}, r.rows, "short_conv"),
             (5 * values + earlier) * word, 2.0 * (short_conv_kernel + 1) * values);
}

model::GatedDeltaNet delta_net_of(const Sizes& s) {
  return {.key_heads = s.kv_heads, .value_heads = s.heads, .key_dim = s.head_dim, .value_dim = s.head_dim, .kernel = delta_net_kernel};
}

/// From a state that has all of the text. Each state is read and written once.
Workload recurrent_scan(const Selector& select, const Request& r) {
  const model::GatedDeltaNet net = delta_net_of(r.sizes);
  const std::uint32_t context = sequence_of(r.sizes).context, record = net.channels() + 2 * net.value_heads;
  const kernels::RecurrentScan scan{
      .records = {.layer = delta_net_layer, .width = record, .tables = exec::first_table_entry(exec::MemoryKind::recurrent, context)},
      .heads = net.value_heads,
      .key_heads = net.key_heads,
      .key_dim = net.key_dim,
      .value_dim = net.value_dim,
      .kernel = net.kernel,
      .input = net.value_width() + record,
      .record_first = net.value_width(),
      .k = net.key_width(),
      .v = 2 * net.key_width(),
      .rates = net.channels(),
      .taps = vector_tensor,
      .dt_bias = vector_tensor,
      .decay_rate = vector_tensor,
      .scans = exec::first_table_entry(exec::MemoryKind::states, context)};
  const double states = static_cast<double>(net.value_width()) * net.key_dim, rows = r.rows;
  return one(fmt::format("{}/{}x{}", net.value_heads, net.key_heads, net.key_dim),
             kernels::recurrent_scan(select, scan, kernels::ScanExtent::rows, r.rows, "recurrent_scan"),
             (2 * states + rows * (2.0 * record + net.value_width()) + (net.kernel - 1.0) * record) * word, rows * 7 * states);
}

Workload gated_norm(const Selector& select, const Request& r) {
  const Sizes& s = r.sizes;
  const std::uint32_t width = s.heads * s.head_dim;
  const double values = static_cast<double>(r.rows) * width;
  return one(heads_text(s),
             kernels::gated_norm(select, {.part = s.head_dim, .width = width, .input = width, .weight = vector_tensor, .epsilon = 1e-6f},
                                 r.rows, "gated_norm"),
             3 * values * word, 8 * values);
}

Workload store_record(const Selector& select, const Request& r) {
  return one(fmt::to_string(r.sizes.width),
             kernels::store_record(select, {ResourceKind::normed}, r.sizes.width, records_of(r, head_layer), r.rows, "store_record"),
             2.0 * r.rows * r.sizes.width * word, 0);
}

Workload prediction_input(const Selector& select, const Request& r) {
  const double values = static_cast<double>(r.rows) * r.sizes.width;
  const kernels::PredictionInput input{.embeddings = {ResourceKind::normed},
                                       .records = records_of(r, head_layer),
                                       .embedding_norm = vector_tensor,
                                       .hidden_norm = vector_tensor,
                                       .n = r.sizes.width,
                                       .epsilon = 1e-6f};
  return one(fmt::to_string(r.sizes.width), kernels::prediction_input(select, input, r.rows, "prediction_input", false), 4 * values * word,
             8 * values);
}

}  // namespace kbench
