#include "bench/preset_sweep.h"

#include <fmt/format.h>

#include "bench/preset.h"
#include "exit_code.h"
#include "output.h"
#include "result_file.h"

namespace cli::bench {
namespace {

/// The properties of the model that a preset needs: its layers, and if requested ASD's cosines and skip set on the first prompt.
PresetModel preset_model(const skipstone::Engine& engine, const Prompt& prompt, const PresetOptions& preset,
                         skipstone_session_params sampling) {
  const skipstone_engine_info info = engine.info();
  if (!preset_needs_layers(preset.name)) return {info.layers, info.exit_layer, preset.skip_set, {}};
  sampling.draft = "asd";
  skipstone::Session session(engine, sampling);
  session.generate(engine.tokenize(prompt.text), 1);
  const RunStatistics statistics = read_statistics(session);
  PresetModel model{info.layers, info.exit_layer, preset.skip_set, statistics.attention_cosine};
  if (model.skip_set.empty()) model.skip_set = statistics.skip_set;
  if (model.skip_set.empty()) {
    fail(ExitCode::usage, "ASD skips nothing on the first prompt, so there is no set for this preset; name one with --skip-set");
  }
  return model;
}

}  // namespace

Sweep run_preset(const skipstone::Engine& engine, const std::vector<Prompt>& prompts, const PresetOptions& options,
                 SweepOptions sweep_options) {
  const Preset preset = make_preset(options.name, preset_model(engine, prompts.front(), options, sweep_options.sampling));
  sweep_options.drafters = {"none"};
  for (const PresetPoint& point : preset.points) sweep_options.drafters.push_back(point.drafter);
  Sweep sweep = run_sweep(engine, prompts, sweep_options);
  if (sweep.runs.empty()) return sweep;
  if (!options.plot.empty()) write_file(options.plot, svg(plot_of(preset, sweep)));
  if (const std::string best = best_point(preset, sweep); !best.empty()) note(best);
  return sweep;
}

}  // namespace cli::bench
