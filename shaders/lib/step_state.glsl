// The state buffer; define STEP_STATE_BINDING first.
#include "abi/step_state.h"
layout(std430, set = 0, binding = STEP_STATE_BINDING) readonly buffer State {
  STEP_STATE(SK_FIELD, SK_ARRAY)
  uint pages[];
} state;
