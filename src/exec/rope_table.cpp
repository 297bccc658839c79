#include "exec/rope_table.h"

#include <functional>

#include "base/elementary.h"

namespace skipstone::exec {
namespace {

bool has_local(const model::Config& config) { return config.local_rope_base > 0.0f; }
std::uint32_t local_dim(const model::Config& config) { return config.local_rope_dim != 0 ? config.local_rope_dim : config.rope_dim; }
/// Where the table of layers with a base of their own begins, in its rows.
std::uint32_t local_row(const model::Config& config, std::uint32_t context) {
  return static_cast<std::uint32_t>((std::uint64_t{context} * config.rope_dim + local_dim(config) - 1) / local_dim(config));
}
bool has_temperature(const model::Config& config) { return config.temperature > 0.0f; }

/// Appends the angles of `frequency` (by pair) at each position, their cosines and sines times `magnitude` (by position).
void append(std::vector<float>& table, std::uint32_t context, std::uint32_t pairs, const std::function<double(std::uint32_t)>& frequency,
            const std::function<double(std::uint32_t)>& magnitude) {
  const std::size_t first = table.size();
  table.resize(first + std::size_t{context} * pairs * 2);
  std::vector<double> of_position(context);
  for (std::uint32_t position = 0; position < context; ++position) of_position[position] = magnitude(position);
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const double turn = frequency(pair);
    for (std::uint32_t position = 0; position < context; ++position) {
      const std::size_t at = first + (std::size_t{position} * pairs + pair) * 2;
      const CosSin angle = cos_sin(position * turn);
      table[at] = static_cast<float>(of_position[position] * angle.cos);
      table[at + 1] = static_cast<float>(of_position[position] * angle.sin);
    }
  }
}

}  // namespace

RopeRows rope_rows(const model::Config& config, std::uint32_t context, const model::Attention& attention) {
  if (attention.local_rope) return {local_row(config, context), local_row(config, context)};
  if (has_temperature(config)) return {0, has_local(config) ? 2 * context : context};
  return {0, 0};
}

std::uint64_t rope_table_floats(const model::Config& config, std::uint32_t context) {
  const std::uint64_t of_all = std::uint64_t{context} * config.rope_dim * (has_temperature(config) ? 2 : 1);
  if (!has_local(config)) return of_all;
  return of_all + (std::uint64_t{local_row(config, context)} + context) * local_dim(config) - std::uint64_t{context} * config.rope_dim;
}

std::vector<float> rope_table(const model::Config& config, std::uint32_t context) {
  const std::uint32_t pairs = config.rope_dim / 2, local = local_dim(config);
  const std::vector<float>& factors = config.factors_for(context);
  const auto magnitude = static_cast<double>(config.rope_magnitude);
  const auto turns = [](float base, std::uint32_t pair, std::uint32_t dimensions) {
    return power(static_cast<double>(base), -2.0 * pair / dimensions);
  };
  const auto scaled = [&](std::uint32_t pair) {
    const double factor = factors.empty() ? 1.0 : static_cast<double>(factors[pair]);
    return turns(config.rope_base, pair, config.rope_dim) / static_cast<double>(config.rope_scale) / factor;
  };
  std::vector<float> table;
  table.reserve(rope_table_floats(config, context));
  append(table, context, pairs, scaled, [&](std::uint32_t) { return magnitude; });
  if (has_local(config)) {
    table.resize(std::size_t{local_row(config, context)} * local);
    append(
        table, context, local / 2, [&](std::uint32_t pair) { return turns(config.local_rope_base, pair, local); },
        [](std::uint32_t) { return 1.0; });
  }
  if (has_temperature(config)) {
    append(table, context, pairs, scaled, [&](std::uint32_t position) { return magnitude * config.temperature_at(position); });
  }
  return table;
}

}  // namespace skipstone::exec
