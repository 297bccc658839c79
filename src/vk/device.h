// Instance, device choice, and the device itself. Everything below src/vk/*.cpp is hidden from includers: no vulkan.h here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vk/caps.h"
#include "vk/host_device.h"
#include "vk/memory_account.h"
#include "vk/tuning.h"

namespace skipstone::vk {

struct InstanceState;
struct DeviceState;

/// A Vulkan instance: one made through the system's loader (opened at run time), or a host's.
class Instance {
 public:
  /// `validation`: VK_LAYER_KHRONOS_validation with synchronisation validation; its messages are logged as warnings and counted.
  /// Throws no_device without a loader or a driver (with what to install), unsupported where validation is asked for but absent.
  static std::shared_ptr<Instance> create(bool validation);
  /// The host's instance alone: no devices are listed. Throws no_device where it has not the functions of Vulkan 1.2.
  static std::shared_ptr<Instance> wrap(const HostDevice& host);
  ~Instance();

  /// Every physical device with Vulkan 1.2 or newer, in the driver's order; may be empty.
  const std::vector<Caps>& devices() const;
  /// Why the device at `index` cannot run models; "" where it can (compute queue, timeline semaphore, 8 storage buffers, ...).
  std::string unsuitable(std::uint32_t index) const;
  /// Messages of the validation layers so far (warnings and errors).
  std::uint64_t validation_messages() const;

  InstanceState& state() { return *state_; }

 private:
  Instance();
  std::unique_ptr<InstanceState> state_;
};

struct ChosenDevice {
  std::uint32_t index = 0;
  std::string reason;  ///< "discrete GPU with the most memory", "asked for by name 'rtx'", ...
};

/// The best discrete GPU, else integrated, else virtual, else CPU. `wanted`: "" or a number of the list, or a part of a name
/// (case-insensitive). Throws no_device (nothing suitable: each device with its reason) or not_found (no or several matches: lists them).
ChosenDevice choose_device(const std::vector<Caps>& devices, const std::function<std::string(std::uint32_t)>& unsuitable,
                           const std::string& wanted);

struct DeviceOptions {
  /// Asks drivers that can to keep the data of Pipeline::statistics() (SKIPSTONE_PIPELINE_STATISTICS logs it too).
  bool pipeline_statistics = false;
  bool low_priority = false;  ///< of a device of our own: other programs' work goes first, where the driver knows priorities
  std::shared_ptr<MemoryAccount> memory = nullptr;  ///< that all arenas are charged to; null: one of its own, without a limit
};

/// A logical device with one compute queue. Its arenas, pipelines, recorders and queues may each be used by a thread of their own.
class Device {
 public:
  static std::shared_ptr<Device> create(std::shared_ptr<Instance> instance, std::uint32_t index, const DeviceOptions& options = {});
  /// The host's device, as far as it was made with the items that requirements() lists. Throws unsupported where a needed one is missing,
  /// invalid_argument for handles that are missing.
  static std::shared_ptr<Device> wrap(const HostDevice& host, const DeviceOptions& options = {});
  ~Device();

  const Caps& caps() const;
  const Tuning& tuning() const;
  void override_tuning(const Tuning& tuning);  ///< before any kernel is made; for tests and measurements
  Instance& instance();
  void require_alive() const;                   ///< throws device_lost, as submissions do, where it is lost
  std::uint64_t memory_allocated() const;       ///< bytes of device memory held by all arenas now
  std::uint64_t host_memory_allocated() const;  ///< bytes of Role::host_weights, which are not among these
  std::uint64_t memory_available() const;       ///< bytes of the largest device-local heap that are free now, as far as the driver says
  /// The same of the largest heap that is not device-local, where Role::host_weights are; nothing where all memory is the device's own.
  std::optional<std::uint64_t> host_memory_available() const;
  std::uint64_t memory_of_others() const;  ///< bytes that other Devices of the account hold of the same physical device
  /// memory_available() if these gave theirs back: no more than the heap has beside what this Device holds, since drivers that do not say
  /// what is used count this Device's memory alone.
  std::uint64_t memory_available_alone() const;
  bool could_have(std::uint64_t bytes) const;  ///< whether `bytes` more would fit then, within the account's limit
  MemoryAccount& memory_account() const;       ///< DeviceOptions'
  bool low_priority() const;                   ///< asked for and got

  DeviceState& state() { return *state_; }

 private:
  Device();
  std::unique_ptr<DeviceState> state_;
};

}  // namespace skipstone::vk
