// An engine's layers on remote devices, from the view of the first stage.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/stage_plan.h"
#include "exec/link.h"
#include "exec/stage_ring.h"

namespace skipstone::engine {

/// State that a stage after the first one reports.
struct StageState {
  std::string place;  ///< "device 1", "rank 1"
  std::string device, driver, build;
  std::uint64_t available = 0;        ///< bytes of memory available to its layers
  std::uint64_t available_alone = 0;  ///< the same without other engines of the account
  std::uint32_t begin = 0, end = 0;
  std::uint64_t weights = 0, kv = 0, activations = 0;  ///< planned bytes
  std::uint64_t held = 0;                              ///< bytes allocated now
  std::uint64_t validation_messages = 0;
  bool of_system = false;             ///< StageDevice::of_system
  std::uint32_t experts_on_host = 0;  ///< leading layers of the model whose experts are in host memory
  std::uint64_t host_weights = 0;     ///< planned bytes of those that are this stage's
  std::uint64_t host_held = 0;        ///< bytes of them allocated now
};

/// Setup that all stages get before they load; each finds its layers by its stage number.
struct StageSetup {
  std::vector<std::uint32_t> ends;            ///< by stage, including the first one
  std::uint32_t experts_on_host = 0;          ///< leading layers of the model
  exec::SequenceShape shape;                  ///< except begin and end
  bool matrix = false;                        ///< kernels::Math
  bool tuned = true;                          ///< use kernel choices measured earlier on the stage's device
  std::string fingerprint, head_fingerprint;  ///< of FileContents
  std::string model, mtp, synthetic;          ///< as EngineOptions has them
};

// States and setup as text, in messages before the first pass.
/// One line.
std::string to_json(const StageState& state);
/// Parses all lines. Throws internal if they are invalid.
std::vector<StageState> states_from(std::string_view lines);
std::string to_json(const StageSetup& setup);
StageSetup setup_from(std::string_view text);

/// Name and version of a device's driver.
std::string driver_of(const vk::Caps& caps);

/// The versions that all stages must agree in: the release, the commit and the kernels.
std::string stage_build();

/// The distribution of the layers, without loading anything: for `options.devices`, or all devices that are not CPUs, or the best one.
/// Throws as Engine::load() would if it does not fit.
std::vector<StageState> plan_devices(const EngineOptions& options);

class Stages {
 public:
  /// Runs the stages on threads of this process, one for each of `wishes` but the first.
  Stages(const EngineOptions& options, std::span<const StageWish> wishes);
  /// Uses stages in processes at the other end of the links.
  Stages(std::unique_ptr<exec::Link> out, std::unique_ptr<exec::Link> in, std::uint64_t transfer_microseconds);
  ~Stages();

  exec::StageRing& ring() { return *ring_; }
  /// The states in order, without the first stage. Throws what a stage has thrown since, and invalid_argument if a stage has another
  /// version.
  std::vector<StageState> states();
  /// The states now; while the stages work, those of an earlier call. Does not wait for that work, which may itself wait for memory.
  std::vector<StageState> latest_states();
  /// Keys and values of a remote layer for a sequence's first positions (exec::KvBytes).
  std::vector<std::byte> read_kv(std::uint32_t layer, std::uint32_t positions, const exec::PageLists& pages);
  void write_kv(std::uint32_t layer, std::uint32_t positions, const exec::PageLists& pages, std::span<const std::byte> bytes);
  /// The stages' devices, drivers and layers, if a device is not `first` or has another driver, so that results may differ in bits; else
  /// "".
  std::string other_devices(const vk::Caps& first);
  /// Devices, drivers, layers and the transfer delay, which determine the costs of passes.
  std::string described();
  /// Tells the stages to load and does not wait for them: states() does.
  void load(const StageSetup& setup);

 private:
  std::vector<StageState> keep_states(const exec::StageMessage& reply);

  std::uint64_t transfer_microseconds_;
  std::vector<std::unique_ptr<exec::Link>> links_;
  std::unique_ptr<exec::StageRing> ring_;  ///< its destructor ends the threads' work
  std::vector<std::jthread> threads_;
  std::mutex latest_mutex_;
  std::vector<StageState> latest_;
};

}  // namespace skipstone::engine
