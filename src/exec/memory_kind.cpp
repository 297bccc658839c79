#include "exec/memory_kind.h"

#include <algorithm>
#include <variant>

#include "exec/pass_builder.h"
#include "kernels/operations.h"

namespace skipstone::exec {
namespace {

std::uint32_t largest_window(const model::Config& config, std::uint32_t context) {
  std::uint32_t window = 0;
  for (std::uint32_t layer = 0; layer < config.layer_count(); ++layer) {
    if (config.has_window(layer, context)) window = std::max(window, config.window(layer));
  }
  return window;
}

bool stores_keys(const model::Config& config, std::uint32_t layer) {
  const auto* attention = std::get_if<model::Attention>(&config.block(layer).mixer);
  return attention != nullptr && !attention->kv_source;
}
bool is_full(const model::Config& config, std::uint32_t context, std::uint32_t layer) {
  return stores_keys(config, layer) && !config.has_window(layer, context);
}
bool is_sliding(const model::Config& config, std::uint32_t context, std::uint32_t layer) {
  return stores_keys(config, layer) && config.has_window(layer, context);
}
// Those of a head are the hidden states that it reads.
bool has_records(const model::Config& config, std::uint32_t, std::uint32_t layer) {
  return config.block(layer).predicts || is_recurrent(config.block(layer).mixer);
}

constexpr std::uint32_t most_positions = UINT32_MAX / KV_PAGE * KV_PAGE;  // of whole pages

std::uint32_t full_positions(const model::Config&, const SequenceShape& shape) {
  return std::min(std::max(shape.context, shape.pool_tokens), most_positions);
}

// Pages are released in whole chunks of keys, and a pass's rows need pages before those that they no longer see are released.
std::uint32_t sliding_positions(const model::Config& config, const SequenceShape& shape) {
  const std::uint32_t window = largest_window(config, shape.context), all = full_positions(config, shape);
  if (window == 0) return 0;
  const std::uint64_t most =
      std::uint64_t{window} + rollback_margin + std::max(shape.chunk, std::uint32_t{KV_PAGE}) + STEP_MAX_ROWS + KV_PAGE;
  return shape.keeps_windows || most > all ? all : static_cast<std::uint32_t>(most);
}

bool has_states(const model::Config& config, std::uint32_t, std::uint32_t layer) {
  return is_recurrent(config.block(layer).mixer) && recurrent_shape(config).state > 0;
}

// Those of a sequence for each context that the cache has room for, and some for cached prefixes.
std::uint32_t state_positions(const model::Config& config, const SequenceShape& shape) {
  if (recurrent_shape(config).state == 0) return 0;
  const std::uint64_t sequences = (std::uint64_t{full_positions(config, shape)} + shape.context - 1) / shape.context;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((4 * sequences + (shape.keeps_windows ? 4 : 0)) * KV_PAGE, most_positions));
}

// A prefix ends at a page, and what its next token sees is in that page: with those at every `prefix_stride`th page, and at the ends of
// prompts, a text with a cached prefix reads few of its tokens again.
std::uint32_t recurrent_positions(const model::Config& config, const SequenceShape& shape) {
  const std::uint32_t window = recurrent_shape(config).window, all = full_positions(config, shape);
  if (window == 0) return 0;
  const bool with_states = recurrent_shape(config).state > 0;
  const std::uint64_t one_sequence =
      std::uint64_t{window} + (with_states ? state_rollback_margin : rollback_margin) + STEP_MAX_ROWS + std::uint64_t{2} * KV_PAGE;
  const std::uint32_t of_prefixes = !shape.keeps_windows ? 0 : with_states ? std::uint32_t{4} * KV_PAGE : all / prefix_stride;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, one_sequence + of_prefixes));
}

// Every text has pages of full layers, even if all layers have a window: their number is that of the text's pages.
constexpr ByKind<MemoryKindRow> kind_rows{
    {{{.pages_key = "pages",
       .released_key = nullptr,
       .by_chunks = true,
       .sparse_prefixes = false,
       .has_layer = is_full,
       .window = [](const model::Config&, std::uint32_t) { return 0u; },
       .initial_positions = full_positions},
      {.pages_key = "sliding_pages",
       .released_key = "left_pages",
       .by_chunks = true,
       .sparse_prefixes = false,
       .has_layer = is_sliding,
       .window = largest_window,
       .initial_positions = sliding_positions},
      {.pages_key = "recurrent_pages",
       .released_key = "left_recurrent_pages",
       .by_chunks = false,
       .sparse_prefixes = true,
       .has_layer = has_records,
       .window = [](const model::Config& config, std::uint32_t) { return recurrent_shape(config).window; },
       .initial_positions = recurrent_positions},
      // A text with a cached prefix is read from the state after its last page.
      {.pages_key = "recurrent_states",
       .released_key = nullptr,
       .by_chunks = false,
       .sparse_prefixes = true,
       .has_layer = has_states,
       .window = [](const model::Config& config, std::uint32_t) { return recurrent_shape(config).state > 0 ? 2u : 0u; },
       .initial_positions = state_positions}}}};

}  // namespace

const MemoryKindRow& row_of(MemoryKind kind) { return kind_rows[kind]; }

std::vector<MemoryKind> position_kinds_of(const model::Config& config, std::uint32_t context, std::uint32_t layer) {
  std::vector<MemoryKind> kinds;
  for (const MemoryKind kind : {MemoryKind::full, MemoryKind::sliding, MemoryKind::recurrent}) {
    if (row_of(kind).has_layer(config, context, layer)) kinds.push_back(kind);
  }
  return kinds;
}

MemoryKind memory_kind_of(const model::Config& config, std::uint32_t context, std::uint32_t layer) {
  const std::vector<MemoryKind> kinds = position_kinds_of(config, context, layer);
  return kinds.empty() ? MemoryKind::full : kinds.front();
}

std::vector<std::uint32_t> layers_of(MemoryKind kind, const model::Config& config, const SequenceShape& shape) {
  std::vector<std::uint32_t> layers;
  const auto add = [&](std::uint32_t layer) {
    if (row_of(kind).has_layer(config, shape.context, layer)) layers.push_back(layer);
  };
  for (std::uint32_t layer = shape.begin; layer < shape.end_of(config.layer_count()); ++layer) add(layer);
  if (shape.begin == 0) {
    for (std::uint32_t head = config.layer_count(); head < config.block_count(); ++head) add(head);
  }
  return layers;
}

bool is_recurrent(const model::Mixer& mixer) {
  return !std::holds_alternative<model::Attention>(mixer) && !std::holds_alternative<std::monostate>(mixer);
}

std::uint32_t initial_pages(MemoryKind kind, const model::Config& config, const SequenceShape& shape) {
  return kernels::pages_for(row_of(kind).initial_positions(config, shape));
}

}  // namespace skipstone::exec
