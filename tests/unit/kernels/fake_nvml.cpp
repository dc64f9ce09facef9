// A library that answers as NVML: an H200 whose energy counter is not supported, at 700 W over the
// last second and 480 W now; and an A100, which does not say what it draws now.
#include <cstdio>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;

int device = 0;
int older_device = 0;

// As NVIDIA documents nvmlFieldValue_t.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int type;
  int status;

  union {
    unsigned as_unsigned;
    double as_double;
  } value;
};

}  // namespace

extern "C" {

int nvmlInit_v2();
int nvmlShutdown();
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** handle);
int nvmlDeviceGetClockInfo(void* handle, int clock, unsigned* value);
int nvmlDeviceGetMaxClockInfo(void* handle, int clock, unsigned* value);
int nvmlDeviceGetPowerUsage(void* handle, unsigned* value);
int nvmlDeviceGetFieldValues(void* handle, int count, void* values);
int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* value);
int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* value);
int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* value);
int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* value);
int nvmlDeviceGetMigMode(void* handle, unsigned* current, unsigned* pending);
int nvmlSystemGetDriverVersion(char* text, unsigned length);
int nvmlSystemGetCudaDriverVersion_v2(int* version);
int nvmlDeviceGetCount_v2(unsigned* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle);
int nvmlDeviceGetName(void* handle, char* text, unsigned length);
int nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* total_free_used);
int nvmlDeviceGetNvLinkState(void* handle, unsigned link, int* active);
int nvmlDeviceGetNvLinkVersion(void* handle, unsigned link, unsigned* version);
int nvmlDeviceGetNvLinkRemoteDeviceType(void* handle, unsigned link, int* type);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* handle, unsigned link, void* pci);

int nvmlInit_v2() { return kSuccess; }

int nvmlShutdown() { return kSuccess; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** handle) {
  if (std::strcmp(pci, "0000:1b:00.0") == 0) {
    *handle = &device;
    return kSuccess;
  }
  if (std::strcmp(pci, "0000:2a:00.0") == 0) {
    *handle = &older_device;
    return kSuccess;
  }
  return kNotFound;
}

int nvmlDeviceGetClockInfo(void* handle, int clock, unsigned* value) {
  if (handle != &device || (clock != 1 && clock != 2)) {
    return kInvalidArgument;
  }
  *value = clock == 1 ? 1455 : 3201;
  return kSuccess;
}

int nvmlDeviceGetMaxClockInfo(void* handle, int clock, unsigned* value) {
  if (handle != &device || clock != 1) {
    return kNotSupported;
  }
  *value = 1980;
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* value) {
  *value = 699500;
  return kSuccess;
}

// The power at this moment (field 186) as an unsigned int (type 1).
int nvmlDeviceGetFieldValues(void* handle, int count, void* values) {
  auto* asked = static_cast<FieldValue*>(values);
  for (int i = 0; i < count; ++i) {
    const bool known = handle == &device && asked[i].field == 186;
    asked[i].status = known ? kSuccess : kNotSupported;
    asked[i].type = 1;
    asked[i].value.as_unsigned = known ? 480250 : 0;
  }
  return kSuccess;
}

int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long*) { return kNotSupported; }

int nvmlDeviceGetTemperature(void*, int sensor, unsigned* value) {
  *value = sensor == 0 ? 61 : 0;
  return kSuccess;
}

// Only the older name: the newer one is looked for first.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* value) {
  *value = 0x4;
  return kSuccess;
}

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* value) {
  *value = 700000;
  return kSuccess;
}

int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = 0;
  *pending = 1;
  return kSuccess;
}

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "580.95.05");
  return kSuccess;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return kSuccess;
}

// Two, the second of which has fallen off the bus.
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &device;
  return index == 0 ? kSuccess : kNotFound;
}

int nvmlDeviceGetName(void*, char* text, unsigned length) {
  std::snprintf(text, length, "NVIDIA H200");
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  total_free_used[0] = 150754820096;
  return kSuccess;
}

// Four links: the first is down, two lead to the GPU at 2a, the last to a switch.
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  *active = link == 0 ? 0 : 1;
  return link < 4 ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  *version = 6;
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned link, int* type) {
  *type = link == 3 ? 2 : 0;
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void* pci) {
  struct {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
  } info = {"", 0, 0x2a, 0, 0, 0, "00000000:2A:00.0"};

  std::memcpy(pci, &info, sizeof(info));
  return kSuccess;
}
}
