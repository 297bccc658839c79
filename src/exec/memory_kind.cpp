#include "exec/memory_kind.h"

#include <algorithm>

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

bool is_full(const model::Config& config, std::uint32_t context, std::uint32_t layer) { return !config.has_window(layer, context); }
bool is_sliding(const model::Config& config, std::uint32_t context, std::uint32_t layer) { return config.has_window(layer, context); }

std::uint32_t full_positions(const model::Config&, const SequenceShape& shape) { return std::max(shape.context, shape.pool_tokens); }

// Pages are released in whole chunks of keys, and a pass's rows need pages before those that they no longer see are released.
std::uint32_t sliding_positions(const model::Config& config, const SequenceShape& shape) {
  const std::uint32_t window = largest_window(config, shape.context), all = full_positions(config, shape);
  if (window == 0) return 0;
  const std::uint64_t most =
      std::uint64_t{window} + rollback_margin + std::max(shape.chunk, std::uint32_t{KV_PAGE}) + STEP_MAX_ROWS + KV_PAGE;
  return shape.keeps_windows || most > all ? all : static_cast<std::uint32_t>(most);
}

// Every text has pages of full layers, even if all layers have a window: their number is that of the text's pages.
constexpr ByKind<MemoryKindRow> kind_rows{{{{.pages_key = "pages",
                                             .released_key = nullptr,
                                             .has_layer = is_full,
                                             .window = [](const model::Config&, std::uint32_t) { return 0u; },
                                             .initial_positions = full_positions},
                                            {.pages_key = "sliding_pages",
                                             .released_key = "left_pages",
                                             .has_layer = is_sliding,
                                             .window = largest_window,
                                             .initial_positions = sliding_positions}}}};

}  // namespace

const MemoryKindRow& row_of(MemoryKind kind) { return kind_rows[kind]; }

MemoryKind memory_kind_of(const model::Config& config, std::uint32_t context, std::uint32_t layer) {
  return *std::ranges::find_if(memory_kinds, [&](MemoryKind kind) { return row_of(kind).has_layer(config, context, layer); });
}

std::vector<std::uint32_t> layers_of(MemoryKind kind, const model::Config& config, const SequenceShape& shape) {
  std::vector<std::uint32_t> layers;
  for (std::uint32_t layer = shape.begin; layer < shape.end_of(config.layer_count()); ++layer) {
    if (row_of(kind).has_layer(config, shape.context, layer)) layers.push_back(layer);
  }
  return layers;
}

std::uint32_t initial_pages(MemoryKind kind, const model::Config& config, const SequenceShape& shape) {
  return kernels::pages_for(row_of(kind).initial_positions(config, shape));
}

}  // namespace skipstone::exec
