#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(filter_bank_task)
