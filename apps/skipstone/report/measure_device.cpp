// Measures a device: the self-test, the texts, and its shapes.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/stopwatch.h"
#include "json/json.h"
#include "report/fixed_model.h"
#include "report/measure.h"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"

namespace cli::report {
namespace {

constexpr std::uint32_t prompt_tokens = 32, text_tokens = 96;

std::vector<skipstone_token> fixed_prompt(std::uint32_t vocabulary) {
  std::vector<skipstone_token> tokens;
  for (std::uint64_t i = 0; i < prompt_tokens; ++i) tokens.push_back(static_cast<skipstone_token>(skipstone::split_mix(i) % vocabulary));
  return tokens;
}

struct Text {
  std::string hash;
  skipstone_stats stats{};
};

/// Generates by sampling, since greedy texts of random weights soon repeat themselves. Coupled verification promises the same text.
Text sample(const skipstone::Engine& engine, const char* draft) {
  skipstone_session_params params = skipstone::session_params();
  params.draft = draft;
  params.temperature = 1;
  params.seed = 1;
  params.ignore_end = 1;
  skipstone::Session session(engine, params);
  const interrupt::Interruptible interruptible(session);
  Text text;
  text.stats = session.generate(fixed_prompt(engine.info().vocabulary), text_tokens);
  skipstone::Fnv1a hash;
  for (const skipstone_token token : session.tokens()) hash.add(static_cast<std::uint64_t>(token));
  text.hash = fmt::format("{:016x}", hash.value());
  return text;
}

/// Samples the same text twice, by plain decoding and with drafts. `engine` has fixed_model().
Exactness measure_exactness(const skipstone::Engine& engine) {
  Exactness result;
  result.model = fixed_model_name;
  result.draft = fmt::format("exit:{},k=4", engine.info().layers - 1);
  result.tokens = text_tokens;
  const Text plain = sample(engine, "none"), drafted = sample(engine, result.draft.c_str());
  result.plain = plain.hash;
  result.drafts = drafted.hash;
  result.drafted = drafted.stats.drafted;
  result.accepted = drafted.stats.accepted;
  result.equal = plain.hash == drafted.hash;
  return result;
}

constexpr double doctor_seconds = 45, quick_doctor_seconds = 5;  // drivers of CPU devices compile kernels slowly
constexpr const char* small_model = "smollm2-135m:q4_0";
constexpr const char* tiny_model = "stories-260k:q8_0";
constexpr double tiny_share = 0.2, small_share = 0.3;  // of the time; small_share if a larger shape follows

/// The device's description by `skipstone devices`.
Device describe(const Json& d) {
  const Json &features = d["features"], &limits = d["limits"];
  Device device;
  device.index = d["index"];
  device.name = d["name"];
  device.kind = d["kind"];
  device.tier = d["tier"];
  device.driver = d["driver"];
  device.driver_info = d["driver_info"];
  device.driver_version = d["driver_version"];
  device.vulkan = d["vulkan"];
  device.vendor_id = d["vendor_id"];
  device.device_id = d["device_id"];
  device.memory_bytes = d["memory_bytes"];
  device.shared_bytes = limits["shared_bytes"];
  device.storage_buffer_range = limits["storage_buffer_range"];
  device.workgroup_invocations = limits["workgroup_invocations"];
  device.subgroup_size = d["subgroup"]["size"];
  device.fp16 = features["fp16"];
  device.int8 = features["int8"];
  device.storage16 = features["storage16"];
  device.storage8 = features["storage8"];
  device.unified_memory = features["unified_memory"];
  device.timestamps = features["timestamps"];
  for (const Json& quirk : d["quirks"]) device.quirks.push_back(shareable(quirk.get<std::string>()));
  return device;
}

class Measurement {
 public:
  Measurement(Device& device, const Effort& effort, Progress& progress)
      : device_(device), effort_(effort), progress_(progress), index_(std::to_string(device.index)) {}

  void measure() {
    examine();
    measure_text();
    measure_model(tiny_model, tiny_share);
    if (effort_.quick) {
      device_.left_out.push_back({small_model, "--quick measures the tiniest shape alone"});
    } else {
      measure_larger();
    }
  }

 private:
  /// Runs a measurement; a failed one is left out with the reason, but a lost device ends all.
  template <typename Action>
  bool attempt(const std::string& what, Action action) {
    if (interrupt::requested()) fail(ExitCode::interrupted, "interrupted: no record was written");
    try {
      return action();
    } catch (const skipstone::error& error) {
      if (interrupt::requested()) fail(ExitCode::interrupted, "interrupted: no record was written");
      if (error.status() == SKIPSTONE_DEVICE_LOST || error.status() == SKIPSTONE_NO_DEVICE) throw;
      device_.left_out.push_back({what, shareable(error.what())});
      return false;
    }
  }

  void examine() {
    const double most_seconds = effort_.quick ? quick_doctor_seconds : doctor_seconds;
    const skipstone::Stopwatch watch;
    Doctor so_far;
    bool late = false;
    const auto watch_case = [&](const skipstone_check& result) {
      ++so_far.cases;
      if (result.passed == 0) ++so_far.failures;
      progress_.update(device_.name + ": self-test", std::min(1.0, watch.seconds() / most_seconds));
      late = watch.seconds() > most_seconds;
      return !late && !interrupt::requested();
    };
    attempt("the self-test", [&] {
      skipstone_doctor_params params = skipstone::doctor_params();
      params.device = index_.c_str();
      try {
        take_verdict(Json::parse(skipstone::doctor(params, watch_case)));
      } catch (const skipstone::error&) {
        if (!late) throw;
        so_far.passed = so_far.failures == 0;
        device_.doctor = so_far;
        device_.left_out.push_back({"the rest of the self-test", fmt::format("it takes more than {:.0f} s", most_seconds)});
      }
      return true;
    });
    if (device_.copy_bytes_per_second) return;
    attempt("the copy bandwidth", [&] {
      device_.copy_bytes_per_second = skipstone::copy_bandwidth(index_.c_str());
      return true;
    });
  }

  void take_verdict(const Json& verdict) {
    Doctor& doctor = device_.doctor.emplace();
    doctor.passed = verdict["passed"];
    doctor.complete = true;
    doctor.cases = verdict["cases"];
    doctor.failures = verdict["failures"];
    doctor.validation_messages = verdict["validation_messages"];
    doctor.floats_kept = verdict["denormals"]["floats_kept"].get<bool>();
    doctor.halves_kept = verdict["denormals"]["halves_kept"].get<bool>();
    device_.copy_bytes_per_second = verdict["copy_bytes_per_second"].get<double>();
  }

  /// CPU devices: a small model. GPUs: also a larger one, the first that fits.
  void measure_larger() {
    std::vector<const char*> large;
    if (device_.kind == "discrete GPU") large = {"llama-3.1-8b:q4_0", "llama-3.2-1b:q4_0"};
    if (device_.kind == "integrated GPU" || device_.kind == "virtual GPU") large = {"llama-3.2-1b:q4_0"};
    measure_model(small_model, large.empty() ? 1 - tiny_share : small_share);
    for (const char* model : large) {
      if (measure_model(model, 1 - tiny_share - small_share)) return;
    }
  }

  bool measure_model(const std::string& model, double share) {
    return attempt(model, [&] {
      const skipstone::Engine engine = load(model);
      const auto say = [&](const std::string& stage, double done) {
        progress_.update(fmt::format("{}: {}, {}", device_.name, model, stage), done);
      };
      auto shape = measure_shape(engine,
                                 {.model = model,
                                  .cpu = device_.kind == "CPU",
                                  .seconds = effort_.seconds * share,
                                  .repetitions = effort_.quick ? 2u : 5u,
                                  .say = say,
                                  .interrupted = interrupt::requested},
                                 device_.left_out);
      if (!shape) return false;
      device_.shapes.push_back(*std::move(shape));
      return true;
    });
  }

  void measure_text() {
    attempt("the text", [&] {
      const std::string model = fixed_model();
      skipstone_engine_params params = skipstone::engine_params(model.data(), model.size());
      params.device = index_.c_str();
      params.memory_limit = effort_.memory;
      device_.exactness = measure_exactness(skipstone::Engine(params, progress_.until_interrupted()));
      return true;
    });
  }

  skipstone::Engine load(const std::string& model) {
    skipstone_engine_params params = skipstone::engine_params();
    params.synthetic = model.c_str();
    params.device = index_.c_str();
    params.memory_limit = effort_.memory;
    params.context = most_context;
    return skipstone::Engine(params, progress_.until_interrupted());
  }

  Device& device_;
  const Effort& effort_;
  Progress& progress_;
  const std::string index_;
};

}  // namespace

Device measure_device(const Json& listed, const Effort& effort, Progress& progress) {
  Device device = describe(listed);
  const skipstone::Stopwatch watch;
  if (const auto why = listed["unsuitable"].get<std::string>(); !why.empty()) {
    device.error = shareable("cannot run models: " + why);
    return device;
  }
  try {
    Measurement(device, effort, progress).measure();
  } catch (const skipstone::error& error) {
    device.error = shareable(error.what());
  }
  if (device.error.empty() && device.shapes.empty()) device.error = "nothing could be measured; left_out has the reasons";
  device.seconds = watch.seconds();
  return device;
}

}  // namespace cli::report
