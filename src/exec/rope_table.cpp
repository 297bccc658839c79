#include "exec/rope_table.h"

#include <functional>

#include "base/elementary.h"

namespace skipstone::exec {
namespace {

bool has_local(const model::Config& config) { return config.local_rope_base > 0.0f; }
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
  if (attention.local_rope) return {context, context};
  if (has_temperature(config)) return {0, has_local(config) ? 2 * context : context};
  return {0, 0};
}

std::uint32_t rope_table_rows(const model::Config& config, std::uint32_t context) {
  return context * (1 + (has_local(config) ? 1 : 0) + (has_temperature(config) ? 1 : 0));
}

std::vector<float> rope_table(const model::Config& config, std::uint32_t context) {
  const std::uint32_t pairs = config.rope_dim / 2;
  const std::vector<float>& factors = config.factors_for(context);
  const auto magnitude = static_cast<double>(config.rope_magnitude);
  const auto turns = [&](float base, std::uint32_t pair) { return power(static_cast<double>(base), -2.0 * pair / config.rope_dim); };
  const auto scaled = [&](std::uint32_t pair) {
    const double factor = factors.empty() ? 1.0 : static_cast<double>(factors[pair]);
    return turns(config.rope_base, pair) / static_cast<double>(config.rope_scale) / factor;
  };
  std::vector<float> table;
  table.reserve(std::size_t{rope_table_rows(config, context)} * config.rope_dim);
  append(table, context, pairs, scaled, [&](std::uint32_t) { return magnitude; });
  if (has_local(config)) {
    append(
        table, context, pairs, [&](std::uint32_t pair) { return turns(config.local_rope_base, pair); }, [](std::uint32_t) { return 1.0; });
  }
  if (has_temperature(config)) {
    append(table, context, pairs, scaled, [&](std::uint32_t position) { return magnitude * config.temperature_at(position); });
  }
  return table;
}

}  // namespace skipstone::exec
