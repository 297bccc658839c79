// skipstone report: measures this machine's devices with synthetic models, as a record that can be shared.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/platform/system.h"
#include "commands.h"
#include "job/job.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/number_option.h"
#include "report/comparison.h"
#include "report/measure.h"
#include "report/record.h"
#include "results/fitted_grid.h"
#include "results/formats.h"
#include "skipstone/skipstone.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using report::Device;
using report::Record;
using skipstone::Json;

struct ReportOptions {
  std::string device, output = "skipstone-report.json";
  CLI::Option* device_option = nullptr;
  report::Effort effort;
};

constexpr double quick_seconds = 10;

/// All devices, or the one that --device selects.
std::vector<Json> wanted_devices(const ReportOptions& options) {
  const bool one = options.device_option->count() > 0;
  const Json list = Json::parse(skipstone::list_devices(one ? options.device.c_str() : nullptr))["devices"];
  std::vector<Json> devices;
  for (const Json& device : list) {
    if (!one || device["chosen"].get<bool>()) devices.push_back(device);
  }
  if (devices.empty() && one) {
    fail(ExitCode::no_device, "'{}' is no device that runs models; `skipstone devices` lists what there is", options.device);
  }
  if (devices.empty()) fail(ExitCode::no_device, "there is a Vulkan loader but no device; install a driver");
  return devices;
}

Record empty_record(bool quick) {
  const skipstone::platform::Machine machine = skipstone::platform::machine();
  Record record;
  record.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  record.version = skipstone_version();
  record.commit = skipstone_commit();
  record.quick = quick;
  record.systems.push_back({machine.system, machine.processor, machine.cores, machine.memory_bytes});
  return record;
}

/// Ranks on one machine see the same devices, so its first rank measures for all. Tests have only one machine, and let all ranks measure.
bool measures(const job::Place& place) { return place.first_on_machine || skipstone::env::flag("SKIPSTONE_SAME_DEVICE"); }

/// In rank 0 of a job: the combined record of all ranks; otherwise this process's record.
Record of_all_ranks(const Record& record) {
  const job::Place place = job::place();
  if (place.ranks == 1) return record;
  const Json fields = {{"rank", place.rank}, {"report", dump(report::to_json(record))}};
  const auto lines = job::gather(measures(place) ? json_line("report", fields) : "");
  if (place.rank > 0) return record;
  std::vector<Record> parts;
  parts.reserve(lines.size());
  for (const auto& line : lines) {
    parts.push_back(report::read_record(line.at("report").get<std::string>(), fmt::format("rank {}", line.at("rank").get<std::size_t>())));
  }
  return report::merged(std::move(parts));
}

Record measure_devices(const std::vector<Json>& devices, const report::Effort& effort) {
  Record record = empty_record(effort.quick);
  for (const Json& device : devices) {
    note("measuring {} ...", device["name"].get<std::string>());
    Progress progress;
    record.devices.push_back(report::measure_device(device, effort, progress));
    progress.clear();
    const Device& measured = record.devices.back();
    note("{} in {:.0f} s", measured.error.empty() ? "done" : "failed: " + measured.error, measured.seconds);
  }
  return record;
}

ExitCode measure(ReportOptions options) {
  if (!(options.effort.seconds >= 5 && options.effort.seconds <= 3600))
    fail(ExitCode::usage, "--seconds is 5 to 3600, not {}", options.effort.seconds);
  if (options.effort.quick) options.effort.seconds = std::min(options.effort.seconds, quick_seconds);
  Output output(false);
  const job::Place place = job::place();
  if (place.rank == 0) check_writable(options.output);
  interrupt::install();
  const std::vector<Json> devices = measures(place) ? wanted_devices(options) : std::vector<Json>{};
  job::wait_until_ready();
  const Record record = of_all_ranks(measure_devices(devices, options.effort));
  if (place.rank > 0) return ExitCode::ok;
  write_file(options.output, dump(report::to_json(record), 1) + '\n');
  output.write(report::comparison_text(report::compare({{options.output, record}}), output_width()));
  note("{}: the record, to be shared or given to `skipstone compare`", options.output);
  const bool some = std::ranges::any_of(record.devices, [](const Device& device) { return device.error.empty(); });
  if (!some) fail(ExitCode::failure, "no device could be measured; the record says why");
  return ExitCode::ok;
}

}  // namespace

void add_report(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("report", "Measure all devices without a model file, and write a record that can be shared");
  const auto options = std::make_shared<ReportOptions>();
  options->device_option =
      command
          ->add_option("--device", options->device, "This one alone: a number from `skipstone devices` or a part of a name; default: all")
          ->envname("SKIPSTONE_DEVICE")
          ->type_name("DEVICE");
  command->add_option("-o,--output", options->output, "The record")->envname("SKIPSTONE_OUTPUT")->capture_default_str()->type_name("FILE");
  add_number(*command, "--seconds", options->effort.seconds,
             "Time for the speeds of a device; a slow one is measured less often or on less")
      ->envname("SKIPSTONE_SECONDS")
      ->capture_default_str();
  add_memory_option(*command, options->effort.memory);
  command->add_flag("--quick", options->effort.quick, "The tiniest model alone, twice: to see that it runs")->envname("SKIPSTONE_QUICK");
  command->footer(
      "Measured are the self-test, copies, a text with and without drafts, and the speed of models of published shapes with random "
      "weights:\n"
      "prompts, decoding, passes of 1 to 32 rows, and drafts that are accepted with a given probability. What a device cannot do is left "
      "out,\n"
      "and the record says why. It has no name of a user, a host or a file.\n\n"
      "Examples:\n"
      "  skipstone report\n"
      "  skipstone compare skipstone-report.json other.json --html devices.html\n\n"
      "In an MPI job (mpirun -n N skipstone report) the first rank on each machine measures, and rank 0 writes one record.\n\n"
      "Exit code 1 also means that no device could be measured. " +
      std::string(exit_code_help));
  command->callback([options, &code] { code = job::run_shared([&] { return measure(*options); }); });
}

}  // namespace cli
