#include "job.h"

#include <cstdint>
#include <string_view>

#include "base/env.h"
#include "base/number.h"
#include "interrupt.h"
#include "output.h"
#include "skipstone/skipstone_experimental.hpp"

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

/// Joins the job, if there is one; its other ranks have to, too.
Place join() {
  skipstone_job_info info{};
  info.struct_size = sizeof(info);
  skipstone::check(skipstone_job_get_info(&info));
  if (info.ranks > 1 && info.rank == 0) interrupt::install();  // a rank that dies is said by a signal, also before a command looks for them
  return {info.rank, info.ranks};
}

std::string take(char* text) {
  if (text == nullptr) return "";
  const std::string copy = text;
  skipstone_string_free(text);
  return copy;
}

}  // namespace

bool shares_layers(const std::vector<std::string>& arguments) {
  std::optional<std::string> devices = value_of(arguments, "--devices");
  if (!devices) devices = skipstone::env::get("SKIPSTONE_DEVICES");
  return devices && (*devices == "mpi" || devices->starts_with("mpi:"));
}

void share_prompts() {
  sharing = join();
  if (sharing.rank > 0) silence();
}

Place prompt_share() { return sharing; }

std::string gather(const std::string& text) {
  char* all = nullptr;
  skipstone::check(skipstone_job_gather(text.c_str(), &all));
  return take(all);
}

std::string device() {
  char* text = nullptr;
  skipstone::check(skipstone_job_device(&text));
  return take(text);
}

std::optional<ExitCode> serve(const std::vector<std::string>& arguments) {
  if (join().rank == 0) return std::nullopt;
  const auto milliseconds = skipstone::parse_number<double>(value_of(arguments, "--hop-ms").value_or("0"));
  skipstone::check(skipstone_job_serve(static_cast<std::uint64_t>(milliseconds.value_or(0) * 1000)));
  return ExitCode::ok;
}

Membership::~Membership() { skipstone_job_end(); }

}  // namespace cli::job
