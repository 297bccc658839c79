/* What a test asks of the stub driver: dlopen() its library, which the loader has open too, and look these up. All are thread-safe. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the `number`-th failable call from now on (1: the next) fail, once; 0: none. `call`: count calls of that name alone; null: all. Of the
 * results that the specification lets the call return, number `choice` modulo how many there are. */
void stub_fail(const char* call, uint64_t number, uint32_t choice);

/* Failable calls since stub_fail(); the name of the one that failed, "" while none has; what it returned, as VkResult. */
uint64_t stub_calls(void);
const char* stub_failed_call(void);
int32_t stub_failed_result(void);

/* Vulkan objects that are there. */
uint64_t stub_objects(void);
/* Commands (dispatches, copies, fills) that were submitted and waited for, since the driver was loaded. */
uint64_t stub_executed(void);

/* The first use of the API since the last stub_forget_misuse() that no driver has to take: destroyed twice, used after that, destroyed while
 * in use or with children; "" where there was none. Valid until the next call of either. */
const char* stub_misuse(void);
void stub_forget_misuse(void);

#ifdef __cplusplus
}
#endif
