#include "api/open_device.h"

#include "api/guard.h"

namespace skipstone::api {

OpenDevice open_device(const char* wanted, bool validation) {
  const std::shared_ptr<vk::Instance> instance = vk::Instance::create(validation);
  const vk::ChosenDevice choice = vk::choose_device(
      instance->devices(), [&](std::uint32_t index) { return instance->unsuitable(index); }, wanted_device(wanted));
  return {vk::Device::create(instance, choice.index), choice.reason};
}

}  // namespace skipstone::api
