// Jobs of several processes.
#include "cluster/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/engine_options.h"
#include "api/guard.h"
#include "base/env.h"
#include "engine/stage_host.h"
#include "skipstone/skipstone_experimental.h"

namespace skipstone::api {
namespace {

using cluster::Job;

/// The devices of this machine that ranks may have, the best first. CPU devices are left out where a GPU exists.
std::vector<std::uint32_t> devices_for_ranks() {
  std::vector<engine::DeviceEntry> entries = engine::list_devices("");
  std::erase_if(entries, [](const engine::DeviceEntry& entry) { return !entry.unsuitable.empty(); });
  if (std::ranges::any_of(entries, [](const engine::DeviceEntry& entry) { return !entry.caps.is_cpu(); })) {
    std::erase_if(entries, [](const engine::DeviceEntry& entry) { return entry.caps.is_cpu(); });
  }
  std::stable_partition(entries.begin(), entries.end(), [](const engine::DeviceEntry& entry) { return entry.chosen; });
  std::vector<std::uint32_t> devices;
  devices.reserve(entries.size());
  for (const engine::DeviceEntry& entry : entries) devices.push_back(entry.caps.index);
  return devices;
}

std::string device_of(const Job::Place& place) {
  const std::vector<std::uint32_t> devices = devices_for_ranks();
  std::size_t index = place.local_rank;
  if (env::flag("SKIPSTONE_SAME_DEVICE") && !devices.empty()) index %= devices.size();
  if (index >= devices.size()) {
    fail(Code::no_device, "rank {} has no device: its machine has {} for {} ranks", place.rank, devices.size(), place.local_ranks);
  }
  return std::to_string(devices[index]);
}

/// For a rank that cannot have layers: answers every message with the reason.
void refuse(exec::Link& in, exec::Link& out, const Error& error) {
  for (;;) {
    exec::StageMessage message = in.receive();
    const bool over = message.command == exec::StageCommand::end;
    if (!over && message.command != exec::StageCommand::failed) message = exec::failure(error.code(), error.what());
    out.send(std::move(message));
    if (over) return;
  }
}

Job& job_of_other_rank() {
  Job* job = Job::current();
  if (job == nullptr || job->place().rank == 0) fail(Code::invalid_argument, "only ranks after the first one of a job serve it");
  return *job;
}

/// The layers of one engine of rank 0.
void serve_engine(exec::Link& in, exec::Link& out, const Job::Place& place) {
  engine::EngineOptions options;
  options.validation = validation_by_default() != 0;
  try {
    options.device = device_of(place);
  } catch (const Error& error) {
    return refuse(in, out, error);
  }
  engine::StageHost(options, place.rank, fmt::format("rank {}", place.rank), place.local_ranks).serve(in, out);
}

}  // namespace

std::optional<engine::StageJob> stage_job() {
  Job* job = Job::current();
  if (job == nullptr || job->place().ranks < 2) return std::nullopt;
  const Job::Place& place = job->place();
  if (place.rank != 0) fail(Code::invalid_argument, "rank {} loads no model: with devices \"mpi\" rank 0 does that for all", place.rank);
  engine::StageJob stages;
  stages.ranks = place.ranks;
  stages.sharers = place.local_ranks;
  stages.device = device_of(place);
  stages.link_to_second = [job](std::chrono::microseconds delay) { return job->link_to(1, delay); };
  stages.link_from_last = [job, last = place.ranks - 1] { return job->link_from(last); };
  return stages;
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

skipstone_status skipstone_job_get_info(skipstone_job_info* info) {
  return api::guard([&] {
    skipstone_job_info filled{};
    filled.ranks = filled.local_ranks = 1;
    if (const cluster::Job* job = cluster::Job::current()) {
      const cluster::Job::Place& place = job->place();
      filled.rank = place.rank;
      filled.ranks = place.ranks;
      filled.local_rank = place.local_rank;
      filled.local_ranks = place.local_ranks;
    }
    api::give(filled, info);
  });
}

skipstone_status skipstone_job_device(char** device) {
  return api::guard([&] {
    api::require(device, "device");
    *device = nullptr;
    const cluster::Job* job = cluster::Job::current();
    *device = api::copy_string(api::device_of(job == nullptr ? cluster::Job::Place{} : job->place()));
  });
}

skipstone_status skipstone_job_serve(uint64_t transfer_microseconds) {
  return api::guard([&] {
    cluster::Job& job = api::job_of_other_rank();
    const cluster::Job::Place& place = job.place();
    const auto in = job.link_from(place.rank - 1);
    while (job.wait_for_link(place.rank - 1)) {
      const auto out = job.link_to((place.rank + 1) % place.ranks, std::chrono::microseconds(transfer_microseconds));
      api::serve_engine(*in, *out, place);
    }
  });
}

skipstone_status skipstone_job_gather(const char* text, char** texts) {
  return api::guard([&] {
    api::require(text, "text");
    api::require(texts, "texts");
    *texts = nullptr;
    cluster::Job* job = cluster::Job::current();
    std::string all = text;
    if (job != nullptr) {
      const std::vector<std::string> gathered = job->gather(std::move(all));
      if (gathered.empty()) return;
      all.clear();
      for (const std::string& one : gathered) all += one;
    }
    *texts = api::copy_string(all);
  });
}

void skipstone_job_end(void) { cluster::Job::end(); }

void skipstone_job_stop(void) { cluster::Job::stop(); }

}  // extern "C"
