// An engine's layers on other devices, as the one with the first layers sees them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/stage_plan.h"
#include "exec/link.h"
#include "exec/stage_ring.h"

namespace skipstone::engine {

/// What a stage behind the first one says of itself.
struct StageState {
  std::string place;  ///< "device 1", "rank 1"
  std::string device, driver, build;
  std::uint64_t available = 0;  ///< bytes of memory that its layers may take
  std::uint32_t begin = 0, end = 0;
  std::uint64_t weights = 0, kv = 0, activations = 0;  ///< as planned
  std::uint64_t held = 0;                              ///< bytes now
  std::uint64_t validation_messages = 0;
};

/// What all stages are told before they load; each finds its own layers by its number.
struct StageSetup {
  std::vector<std::uint32_t> ends;  ///< by stage, the first one's too
  exec::SequenceShape shape;        ///< but for begin and end
  bool matrix = false;              ///< kernels::Math
  bool tuned = true;                ///< choices of kernels as measured before on its device
  std::string fingerprint, model, synthetic;
};

/// Name and version of a device's driver.
std::string driver_of(const vk::Caps& caps);

/// What versions have to agree in: the release, the commit and the kernels.
std::string stage_build();

/// What would lie where, without loading anything: for `options.devices`, or all devices that are no CPU, or the best one. Throws as
/// Engine::load() would where it would not fit.
std::vector<StageState> plan_devices(const EngineOptions& options);

class Stages {
 public:
  /// On threads of this process, one for each of `wishes` but the first.
  Stages(const EngineOptions& options, std::span<const StageWish> wishes);
  /// In processes at the other end of the links.
  Stages(std::unique_ptr<exec::Link> out, std::unique_ptr<exec::Link> in, std::uint64_t hop_microseconds);
  ~Stages();

  exec::StageRing& ring() { return *ring_; }
  /// In order, without the first stage. Throws what a stage threw since, and invalid_argument where one is another version.
  std::vector<StageState> states();
  /// Keys and values of a layer that is there, of a sequence's first positions (exec::KvBytes).
  std::vector<std::byte> read_kv(std::uint32_t layer, std::uint32_t positions, const exec::PageLists& pages);
  void write_kv(std::uint32_t layer, std::uint32_t positions, const exec::PageLists& pages, std::span<const std::byte> bytes);
  /// The stages' devices, drivers and layers, where one is not `first` or has another driver, so that their bits may differ; else "".
  std::string other_devices(const vk::Caps& first);
  /// Devices, drivers, layers and the delay of hops: what passes cost on them follows from it.
  std::string described();
  /// Tells them to load, and does not wait for it: states() does.
  void load(const StageSetup& setup);

 private:
  std::uint64_t hop_microseconds_;
  std::vector<std::unique_ptr<exec::Link>> links_;
  std::unique_ptr<exec::StageRing> ring_;  ///< ends the threads' work
  std::vector<std::jthread> threads_;
};

}  // namespace skipstone::engine
