#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(convolve_task, convolve_global_task)
