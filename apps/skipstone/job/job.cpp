#include "job/job.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/env.h"
#include "base/number.h"
#include "base/status.h"
#include "json/json.h"
#include "results/formats.h"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli::job {
namespace {

/// The last value of an option, as CLI11 reads "--name value" and "--name=value".
std::optional<std::string> value_of(const std::vector<std::string>& arguments, std::string_view name) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == name && i + 1 < arguments.size()) value = arguments[i + 1];
    if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) value = argument.substr(name.size() + 1);
  }
  return value;
}

Place sharing;

/// Joins the job, if there is one; a collective call of all its ranks.
Place join() {
  skipstone_job_info info{};
  info.struct_size = sizeof(info);
  skipstone::check(skipstone_job_get_info(&info));
  if (info.ranks > 1 && info.rank == 0) interrupt::install();  // a signal reports a rank's death, even before the command checks for it
  return {info.rank, info.ranks, info.local_rank == 0};
}

std::string take(char* text) {
  if (text == nullptr) return "";
  std::string copy = text;
  skipstone_string_free(text);
  return copy;
}

constexpr const char* failure_record = "failure";

/// The record of a failure in this rank.
std::string failure_line(ExitCode code, std::string_view sentence) {
  return json_line(failure_record, {{"rank", sharing.rank}, {"code", static_cast<int>(code)}, {"sentence", sentence}});
}

void throw_failure(const skipstone::SortedJson& line) {
  if (line.at("record") != failure_record) return;
  fail(static_cast<ExitCode>(line.at("code").get<int>()), "rank {}: {}", line.at("rank").get<std::size_t>(),
       line.at("sentence").get<std::string>());
}

}  // namespace

bool shares_layers(const std::vector<std::string>& arguments) {
  std::optional<std::string> devices = value_of(arguments, "--devices");
  if (!devices) devices = skipstone::env::get("SKIPSTONE_DEVICES");
  return devices && (*devices == "mpi" || devices->starts_with("mpi:"));
}

bool shares_work(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 3> commands{"bench", "report", "tune"};
  return arguments.size() > 1 && std::ranges::find(commands, arguments[1]) != commands.end();
}

void share_work() {
  sharing = join();
  if (sharing.rank > 0) silence();
}

Place place() { return sharing; }

ExitCode run_shared(const std::function<ExitCode()>& command) {
  if (sharing.rank == 0) return command();
  ExitCode code = ExitCode::failure;
  std::string sentence;
  try {
    return command();
  } catch (const Failure& failure) {
    code = failure.code();
    sentence = failure.what();
  } catch (const skipstone::Error& error) {  // in the program's own arguments
    code = ExitCode::usage;
    sentence = error.what();
  } catch (const skipstone::error& error) {
    code = exit_code(error.status(), false);
    sentence = error.what();
  } catch (const std::exception& error) {
    sentence = error.what();
  }
  gather(failure_line(code, sentence));
  return code;
}

std::vector<skipstone::SortedJson> gather(const std::string& lines) {
  char* gathered = nullptr;
  skipstone::check(skipstone_job_gather(lines.c_str(), &gathered));
  const std::string all = take(gathered);
  std::vector<skipstone::SortedJson> parsed;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\n', begin), all.size());
    throw_failure(parsed.emplace_back(skipstone::SortedJson::parse(all.substr(begin, end - begin))));
    begin = end + 1;
  }
  return parsed;
}

void wait_until_ready() {
  if (sharing.ranks == 1) return;
  const std::string version = skipstone_version(), commit = skipstone_commit();
  for (const auto& line : gather(json_line("ready", {{"rank", sharing.rank}, {"version", version}, {"commit", commit}}))) {
    if (line.at("version") == version && line.at("commit") == commit) continue;
    fail(ExitCode::failure, "rank {} runs skipstone {} ({}), and rank 0 {} ({}); start the same one everywhere",
         line.at("rank").get<std::size_t>(), line.at("version").get<std::string>(), line.at("commit").get<std::string>(), version, commit);
  }
}

std::string device() {
  char* text = nullptr;
  skipstone::check(skipstone_job_device(&text));
  return take(text);
}

std::optional<ExitCode> serve(const std::vector<std::string>& arguments) {
  if (join().rank == 0) return std::nullopt;
  const auto milliseconds = skipstone::parse_number<double>(value_of(arguments, "--transfer-ms").value_or("0"));
  skipstone::check(skipstone_job_serve(static_cast<std::uint64_t>(milliseconds.value_or(0) * 1000)));
  return ExitCode::ok;
}

Membership::~Membership() { skipstone_job_end(); }

}  // namespace cli::job
