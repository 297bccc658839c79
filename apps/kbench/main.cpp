// kbench: checks every kernel alone against the oracle, then times it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string_view>

#include "base/env.h"
#include "base/number.h"
#include "base/status.h"
#include "bench/lists.h"
#include "kbench/compile.h"
#include "kbench/launches.h"
#include "kbench/measure.h"
#include "kbench/report.h"
#include "selftest/data.h"
#include "selftest/selftest.h"
#include "skipstone/skipstone.h"
#include "terminal/exit_code.h"

namespace {

using namespace skipstone;
using cli::ExitCode;
using cli::Failure;

struct Options {
  std::vector<std::string> operations, formats, rows, compiled, launched;
  std::string device, shape, heads, kv = "f16", tier, output_format = "md";
  std::uint32_t width = 4096, ffn = 11008, vocabulary = 32000, depth = 1024, window = 0, tile = 0, samples = 7;
  std::uint32_t experts = 32, experts_used = 4, expert_ffn = 768;
  double softcap = 0.0, overlap = 0.5;
  bool list = false, host_clock = false;
};

/// Numbers with one of `separators` between each two: "4096x11008", "32/8x128".
std::vector<std::uint32_t> numbers(const std::string& option, const std::string& text, const std::string& separators) {
  std::vector<std::uint32_t> values;
  std::string_view rest = text;
  for (std::size_t i = 0; i <= separators.size(); ++i) {
    const std::size_t end = i < separators.size() ? rest.find(separators[i]) : rest.size();
    const auto value = parse_number<std::uint32_t>(rest.substr(0, end));
    if (end == std::string_view::npos || !value || *value == 0 || *value > (1u << 20)) {
      fail(ExitCode::usage, "{} {} is not of the form {}", option, text, option == "--shape" ? "NxK" : "H/KVxD");
    }
    values.push_back(*value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

KvFormats kv_format_of(const Options& o) {
  const std::size_t slash = o.kv.find('/');
  const std::string_view both = o.kv;
  const auto k = kv_format_named(both.substr(0, slash)), v = slash == std::string::npos ? k : kv_format_named(both.substr(slash + 1));
  if (!k || !v) fail(ExitCode::usage, "--kv {} is none of f32, f16, q8_0, q4_0, q5_1, nor two of them as q8_0/q4_0", o.kv);
  return {*k, *v};
}

kbench::Sizes sizes_of(const Options& o) {
  kbench::Sizes sizes;
  const std::vector<std::uint32_t> shape = numbers("--shape", o.shape, "x"), heads = numbers("--heads", o.heads, "/x");
  sizes.n = shape[0], sizes.k = shape[1];
  sizes.heads = heads[0], sizes.kv_heads = heads[1], sizes.head_dim = heads[2];
  sizes.width = o.width, sizes.ffn = o.ffn, sizes.vocabulary = o.vocabulary, sizes.depth = o.depth;
  if (sizes.k % 32 != 0) fail(ExitCode::usage, "--shape {}: K has to be a multiple of 32", o.shape);
  if (sizes.heads % sizes.kv_heads != 0 || sizes.head_dim % 4 != 0 || sizes.head_dim > 256) {
    fail(ExitCode::usage, "--heads {}: KV heads divide the heads, and a head has a multiple of 4 dimensions, at most 256", o.heads);
  }
  for (const auto& [name, value] : {std::pair{"--width", o.width}, {"--ffn", o.ffn}, {"--vocab", o.vocabulary}}) {
    if (value == 0 || value % 4 != 0 || value > (1u << 20)) {
      fail(ExitCode::usage, "{} {} cannot be measured; a multiple of 4 up to 1048576", name, value);
    }
  }
  sizes.kv_format = kv_format_of(o);
  if (sizes.kv_format.have_blocks() && sizes.head_dim % kv_block != 0) {
    fail(ExitCode::usage, "--heads {}: with --kv {} a head has a multiple of {} dimensions", o.heads, o.kv, kv_block);
  }
  if (o.depth > (1u << 17)) fail(ExitCode::usage, "--depth {} cannot be measured; 0 to 131072", o.depth);
  if (o.window > (1u << 17)) fail(ExitCode::usage, "--window {} cannot be measured; 0 to 131072", o.window);
  if (!(o.softcap >= 0.0 && o.softcap <= 1e6)) fail(ExitCode::usage, "--softcap {} is no number of 0 to 1e6", o.softcap);
  if (o.experts == 0 || o.experts > model::most_experts || o.experts_used == 0 ||
      o.experts_used > std::min(o.experts, model::most_experts_used)) {
    fail(ExitCode::usage, "--experts {} --experts-used {} cannot be measured; up to {}, of which a row has up to {}", o.experts,
         o.experts_used, model::most_experts, model::most_experts_used);
  }
  if (o.expert_ffn == 0 || o.expert_ffn % 4 != 0 || o.expert_ffn > (1u << 16)) {
    fail(ExitCode::usage, "--expert-ffn {} cannot be measured; a multiple of 4 up to 65536", o.expert_ffn);
  }
  if (!(o.overlap >= 0.0 && o.overlap <= 1.0)) fail(ExitCode::usage, "--overlap {} is no number of 0 to 1", o.overlap);
  sizes.experts = o.experts, sizes.experts_used = o.experts_used, sizes.expert_ffn = o.expert_ffn, sizes.overlap = o.overlap;
  sizes.window = o.window;
  sizes.softcap = static_cast<float>(o.softcap);
  return sizes;
}

kbench::Settings settings_of(const Options& o) {
  kbench::Settings settings;
  settings.sizes = sizes_of(o);
  settings.operations = o.operations;
  std::string known;
  for (const kbench::Operation& operation : kbench::operations()) known += fmt::format("{}{}", known.empty() ? "" : ", ", operation.name);
  for (const std::string& name : o.operations) {
    if (kbench::find_operation(name) == nullptr) {
      fail(ExitCode::usage, "there is no operation '{}'; there are {}", name, known);
    }
  }
  for (const std::string& name : o.formats) {
    std::string formats;
    for (const gguf::Type type : selftest::formats()) {
      if (selftest::suffix(type) == name) settings.formats.push_back(type);
      formats += fmt::format("{}{}", formats.empty() ? "" : ", ", selftest::suffix(type));
    }
    if (formats.find(name) == std::string::npos || settings.formats.empty()) {
      fail(ExitCode::usage, "there are no kernels for the format '{}'; there are {}", name, formats);
    }
  }
  settings.rows = cli::bench::number_list("--rows", o.rows, 1);
  for (const std::uint32_t n : settings.rows) {
    if (n > STEP_MAX_ROWS) fail(ExitCode::usage, "--rows {} cannot be measured; a pass has at most {}", n, STEP_MAX_ROWS);
  }
  if (o.samples < 1 || o.samples > 100'000) fail(ExitCode::usage, "--samples {} cannot be taken; 1 to 100000", o.samples);
  settings.samples = o.samples;
  settings.timestamps = !o.host_clock;
  for (const vk::Tier tier : {vk::Tier::base, vk::Tier::fp16, vk::Tier::cooperative_matrix}) {
    if (o.tier == vk::to_string(tier)) settings.tier = tier;
  }
  if (!o.tier.empty() && !settings.tier) fail(ExitCode::usage, "there is no tier '{}'; there are base, fp16, coopmat", o.tier);
  if (o.tile != 0 && o.tile != 32 && o.tile != 64 && o.tile != 128)
    fail(ExitCode::usage, "there is no tile of {} squared; there are 32, 64, 128", o.tile);
  settings.tile = o.tile;
  return settings;
}

std::shared_ptr<vk::Device> open_device(const std::string& wanted) {
  const auto instance = vk::Instance::create(env::flag("SKIPSTONE_VALIDATION"));
  const auto unsuitable = [&](std::uint32_t index) { return instance->unsuitable(index); };
  const vk::ChosenDevice choice = vk::choose_device(instance->devices(), unsuitable, wanted);
  return vk::Device::create(instance, choice.index, {.pipeline_statistics = true});
}

ExitCode measure(const Options& o) {
  const cli::Format format = cli::format_of(o.output_format);
  const kbench::Settings settings = settings_of(o);
  const std::shared_ptr<vk::Device> device = open_device(o.device);
  const vk::Caps& caps = device->caps();
  kernels::Library library(device, env::cache_directory());
  kbench::Setting setting;
  setting.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  setting.version = skipstone_version();
  setting.commit = skipstone_commit();
  setting.device = caps.name;
  setting.driver = fmt::format("{} {}", caps.driver_name, caps.driver_info);
  setting.timestamps = settings.timestamps && caps.timestamps;
  setting.copy_bandwidth = selftest::copy_bandwidth(device);
  setting.peak = kbench::peak_flops(device);
  kbench::Measurement measurement(device, library, settings);
  const std::vector<kbench::Result> results = measurement.run([](const std::string& what) { fmt::print(stderr, "{} ...\n", what); });
  library.save_cache();
  fmt::print("{}", kbench::report(results, setting, format));
  for (const kbench::Result& result : results) {
    if (!result.failure.empty()) fail(ExitCode::failure, "kernel {} is wrong: {}", result.kernel, result.failure);
  }
  if (const auto messages = device->instance().validation_messages(); messages > 0) {
    fail(ExitCode::failure, "the Vulkan validation layers had {} complaints; they are above", messages);
  }
  return ExitCode::ok;
}

/// Pipelines that the driver rejects are in the table, and the others are still created.
ExitCode compile(const Options& o) {
  const std::shared_ptr<vk::Device> device = open_device(o.device);
  kernels::Library library(device, "");  // pipelines from a cache have no statistics
  const auto compiled = kbench::compile(device, library, o.compiled, kv_format_of(o),
                                        [](const std::string& model) { fmt::print(stderr, "{} ...\n", model); });
  const vk::Caps& caps = device->caps();
  fmt::print("# {}, {} {}\n{}", caps.name, caps.driver_name, caps.driver_info, kbench::table_of(compiled));
  for (const kbench::CompiledKernel& kernel : compiled) {
    if (!kernel.failure.empty()) fail(ExitCode::failure, "kernel {} was refused: {}", kernel.kernel, kernel.failure);
  }
  return ExitCode::ok;
}

ExitCode count_launches(const Options& o) {
  if (!o.compiled.empty()) fail(ExitCode::usage, "--compile and --launches cannot both be done; choose one");
  const std::shared_ptr<vk::Device> device = open_device(o.device);
  const kernels::Selector select(device->caps(), device->tuning());
  std::vector<kbench::ModelLaunches> models;
  for (const std::string& name : o.launched) models.push_back(kbench::launches(name, select, kv_format_of(o)));
  fmt::print("# {}\n{}", device->caps().name, kbench::table_of(models));
  return ExitCode::ok;
}

void list() {
  for (const kbench::Operation& operation : kbench::operations()) {
    fmt::print("{:<18} {:<14} {}\n", operation.name, operation.has_formats ? "every format" : "", operation.summary);
  }
}

void add_options(CLI::App& app, Options& o) {
  const auto names = [&](const char* option, std::vector<std::string>& values, const char* text) {
    app.add_option(option, values, text)->delimiter(',')->type_name("LIST");
  };
  names("--compile", o.compiled,
        "Run nothing: make each pipeline of these models, a list as llama-3.2-1b:q4_0 (the names of `skipstone bench --synthetic`),\n"
        "and print what the driver's compiler says of it, tab-separated; of the options below only --kv and --device count then");
  names(
      "--launches", o.launched,
      "Run nothing: count dispatches and barriers of these models' passes, a list as of --compile, with the share of a pass that launches\n"
      "of 1.3 us are at 1 TB/s, and list the pipelines that a start makes, each with the moment and the pass that need it; of the\n"
      "options below only --kv and --device count then");
  app.add_flag("--list", o.list, "The operations that there are");
  names("--op", o.operations, "Operations, a list; default: all");
  names("--format", o.formats, "Weight formats of matrix operations, a list as q8_0,q4_0; default: all");
  o.rows = {"1,2,4,8,16,32"};
  app.add_option("--rows", o.rows,
                 "Rows of a pass, a list; a pass has a bucket of 1, 2, 4, ..., 256 rows, and those that an operation cannot\n"
                 "take are left out")
      ->capture_default_str()
      ->type_name("LIST");
  o.shape = "4096x4096", o.heads = "32/8x128";
  app.add_option("--shape", o.shape, "Outputs and inputs of matrices")->capture_default_str()->type_name("NxK");
  app.add_option("--width", o.width, "Of the residual stream")->capture_default_str();
  app.add_option("--ffn", o.ffn, "Of the feed-forward network")->capture_default_str();
  app.add_option("--experts", o.experts, "Experts of a layer")->capture_default_str();
  app.add_option("--experts-used", o.experts_used, "Experts of a row")->capture_default_str();
  app.add_option("--expert-ffn", o.expert_ffn, "Of an expert")->capture_default_str();
  app.add_option("--overlap", o.overlap, "The part of a row's experts that the row before it has chosen too")->capture_default_str();
  app.add_option("--heads", o.heads, "Query heads, KV heads, dimensions of a head")->capture_default_str()->type_name("H/KVxD");
  app.add_option("--vocab", o.vocabulary, "Logits of a row")->capture_default_str();
  app.add_option("--depth", o.depth, "Tokens in the KV cache")->capture_default_str();
  app.add_option("--window", o.window, "Keys that a row of attention sees, as in a layer with a window of its own; 0: all")
      ->capture_default_str();
  app.add_option("--softcap", o.softcap, "That attention's scores are kept below; 0: none")->capture_default_str();
  app.add_option("--kv", o.kv, "Precision of the KV cache: f32, f16, q8_0, q4_0 or q5_1, or of keys and values, as q8_0/q4_0")
      ->capture_default_str()
      ->type_name("TYPE");
  app.add_option("--tier", o.tier, "Of the tiled kernels: base, fp16, coopmat, at most what build and device have; default: the device's");
  app.add_option("--tile", o.tile, "Edge of their tiles: 32, 64, 128, at most what passes and device allow; default: the built-in choice");
  app.add_option("--samples", o.samples, "Of each kernel, taken in turn")->capture_default_str();
  app.add_flag("--host-clock", o.host_clock, "Time submissions on the host, not dispatches on the device");
  app.add_option("--device", o.device, "A number from `skipstone devices` or a part of a name; default: the best")
      ->envname("SKIPSTONE_DEVICE");
  app.add_option("-o,--output-format", o.output_format, cli::format_names)->capture_default_str();
  app.footer(
      "Each kernel is checked against the scalar oracle before it is timed; a wrong one is named, not timed, and the exit code is 1.\n"
      "Matrices stand in memory several times, more than caches hold, and are read in turn. Times are medians of samples that are taken\n"
      "in turn, spread is the range of the samples by the median; GB/s counts what has to be read or written once, and its share is of\n"
      "what the device copies. Registers and spills are there where the driver tells them.\n\n"
      "Example:\n"
      "  kbench --op matvec --format q8_0 --shape 4096x11008 --rows 1,2,4,8,16,32\n\n" +
      std::string(cli::exit_code_help));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app("Times every kernel of Skipstone alone.", "kbench");
    Options options;
    add_options(app, options);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& help) {
      return app.exit(help);
    } catch (const CLI::ParseError& error) {
      fail(ExitCode::usage, "{}", error.what());
    }
    if (!options.launched.empty()) return static_cast<int>(count_launches(options));
    if (!options.compiled.empty()) return static_cast<int>(compile(options));
    if (!options.list) return static_cast<int>(measure(options));
    list();
    return 0;
  } catch (const Failure& failure) {
    cli::print_error(failure.what());
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    cli::print_error(error.what());
    return static_cast<int>(cli::exit_code(static_cast<skipstone_status>(error.code()), false));
  } catch (const std::exception& error) {
    cli::print_error(error.what());
    return static_cast<int>(ExitCode::failure);
  }
}
